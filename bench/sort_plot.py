#!/usr/bin/env python3
"""Draws Gpairs/s against n from gsort_bench's CSV, the bandwidth bound drawn in.

usage: sort_plot.py RESULT.csv [RESULT.csv ...] PLOT.png

The bound is 4.3 TB/s (device memory, copy) over the bytes that auto's engine for many pairs moves for
each pair: the two-level partition of packed words.
"""
import csv
import sys

import matplotlib

matplotlib.use('Agg')
import matplotlib.pyplot as plt

COPY_BYTES_A_SECOND = 4.3e12
NOT_SORTS = {'cub_two_way_merge', 'order_merge'}
# keys read, two levels written and read, rows written
BYTES_A_PAIR = {64: 8 + 16 + 16 + 4, 32: 4 + 16 + 16 + 4}


def main():
    rows = []
    for name in sys.argv[1:-1]:
        rows += [r for r in csv.DictReader(open(name)) if r['distribution'] == 'uniform' and r['algorithm'] not in NOT_SORTS]
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), sharey=True)
    for plot, bits in zip(axes, (64, 32)):
        mine = [r for r in rows if int(r['key_bits']) == bits]
        for algorithm in sorted({r['algorithm'] for r in mine}):
            points = sorted((int(r['rows']), float(r['gpairs_s'])) for r in mine if r['algorithm'] == algorithm)
            plot.plot(*zip(*points), marker='o', label=algorithm)
        plot.axhline(COPY_BYTES_A_SECOND / BYTES_A_PAIR[bits] / 1e9, linestyle='--', color='grey', label='bandwidth bound')
        plot.set_xscale('log')
        plot.set_xlabel('pairs')
        plot.set_title(f'{bits}-bit keys, uniform, with 32-bit rows')
        plot.grid(True, alpha=0.3)
        plot.legend()
    axes[0].set_ylabel('Gpairs/s')
    figure.tight_layout()
    figure.savefig(sys.argv[-1], dpi=120)


if __name__ == '__main__':
    main()
