#!/usr/bin/env python3
"""Do the emulator's tests notice a missing barrier?

usage: mutate.py [FILE.cuh ...], of cuda/sort

Removes each barrier of the sort's and the merge's headers in turn, builds the tests that
use the header and runs them on the distributions that find most, without a mutant first. Prints a line
for each barrier and the count at the end. A barrier is a line that holds nothing else, or the
__syncthreads_or of a condition, which is replaced by the condition alone.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
CUDA = os.path.join(HERE, '..', '..', 'cuda')
BENCH = os.path.join(HERE, '..', '..', 'bench')
FLAGS = ['-O1', '-std=c++17', '-w', '-DGSORT_EMULATE', '-DGSORT_GUARD_BYTES=256', '-DLARGEST_TEST=200007u',
         '-DGSORT_TUNING_ROWS="tiny_rows.h"']
SORT_TEST = ('sort_test.cpp', ['5', '2', '0', '6', '16'])
RADIX_TEST = ('sort_test.cpp', ['0', '5', '12'], '-r')
MERGE_TEST = ('merge_test.cpp', ['0', '12', '3'])
STAGE_TEST = ('stage_partition_test.cpp', ['0'])	# which has no distributions
TESTS = {'multiway_merge.cuh': [MERGE_TEST], 'radix_items.cuh': [RADIX_TEST], 'radix_pass.cuh': [RADIX_TEST, ('sort_test.cpp', ['2'])],
         'tile_crowded.cuh': [('sort_test.cpp', ['16', '19', '2', '5'])],
         'partition_sample.cuh': [('stage_splitters_test.cpp', ['0']), ('sort_test.cpp', ['2'])],
         'partition_split.cuh': [('sort_test.cpp', ['14', '2', '5', '0', '6', '16']), ('stage_splitters_test.cpp', ['0'])],
         'partition_edges.cuh': [('sort_test.cpp', ['14', '2', '5', '0', '6', '16']), ('stage_splitters_test.cpp', ['0'])],
         'partition_cells.cuh': [('sort_test.cpp', ['14', '2', '5', '0', '6', '16']), STAGE_TEST],
         'partition_buckets.cuh': [SORT_TEST, STAGE_TEST], 'partition_bins.cuh': [SORT_TEST, STAGE_TEST],
         'warps.cuh': [SORT_TEST, MERGE_TEST]}
SECONDS = 120


def without_barrier(line):
    if line.strip() in ('__syncthreads();', '__syncwarp();'):
        return ';'
    changed = re.sub(r'__syncthreads_or\((\w+)\)', r'(\1)', line)
    return changed if changed != line else None


def run_test(work, headers, source, distributions, *options):
    program = os.path.join(work, 'test')
    subprocess.run(['g++', *FLAGS, '-I', HERE, '-I', headers, '-I', BENCH, '-o', program, os.path.join(HERE, source)], check=True)
    for distribution in distributions:
        try:
            run = subprocess.run([program, '-q', *options, distribution], capture_output=True, text=True, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return f'found ({source}, distribution {distribution}: no end)'
        if run.returncode != 0:
            return f'found ({source}, distribution {distribution}: {run.stdout.count("BAD")} wrong, status {run.returncode})'
    return 'missed'


def copy_headers(work):
    headers = os.path.join(work, 'cuda')
    shutil.copytree(CUDA, headers, ignore=shutil.ignore_patterns('*.o', '*.a'))
    return headers


def expect_success(names):
    """Tests that fail without a mutant find everything."""
    tests = [test for name in names for test in TESTS.get(name, [SORT_TEST])]
    for i, test in enumerate(tests):
        if test in tests[:i]:
            continue
        with tempfile.TemporaryDirectory() as work:
            result = run_test(work, copy_headers(work), *test)
        if result != 'missed':
            sys.exit(f'nothing is missing, but: {result}')


def judge(work, name, number, mutant):
    lines = open(os.path.join(CUDA, 'sort', name)).read().split('\n')
    lines[number] = mutant
    headers = copy_headers(work)
    open(os.path.join(headers, 'sort', name), 'w').write('\n'.join(lines))
    result = 'missed'
    for test in TESTS.get(name, [SORT_TEST]):
        if result == 'missed':
            result = run_test(work, headers, *test)
    return result


def main():
    names = sys.argv[1:] or sorted(n for n in os.listdir(os.path.join(CUDA, 'sort')) if n.endswith('.cuh'))
    found = tried = 0
    expect_success(names)
    for name in names:
        for number, line in enumerate(open(os.path.join(CUDA, 'sort', name)).read().split('\n')):
            mutant = without_barrier(line)
            if mutant is None:
                continue
            with tempfile.TemporaryDirectory() as work:
                result = judge(work, name, number, mutant)
            tried += 1
            found += result != 'missed'
            print(f'{name}:{number + 1}: {line.strip()}: {result}', flush=True)
    print(f'{found} of {tried} missing barriers found')


if __name__ == '__main__':
    main()
