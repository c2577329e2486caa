/*
 * blocks.c
 *	  The end of a run, its directory of blocks, and their fetches.
 *
 * In:  the block begins of a sorted run, or the row count of a merge order.
 * Out: job->blocks, which is malloc'd; fetches of the blocks.
 */
#include "api/api_internal.h"
#include "rows/ties.h"

#include <stdlib.h>

/* --- finishing ------------------------------------------------------------ */

gsort_status
gsort_job_finish_run(gsort_job *job, gsort_finish_how how)
{
	gsort_status status;

	if (gsort_is_lost(job->device))
		return GSORT_DEVICE_LOST;
	if (job->closing || job->state != GSORT_RUN_FEEDING ||
		(how != GSORT_SORTED && how != GSORT_SORTED_RUN))
		return gsort_bad_argument(job->device, "finish");
	if (job->incomplete_rows > 0)
		return gsort_bad_argument(job->device, "a finish with a row incomplete");
	job->finish_how = how;
	job->state = GSORT_RUN_FINISHING;
	status = job->device->ops->job_finish_run(job);
	if (status != GSORT_OK)
		job->state = GSORT_RUN_FEEDING;
	return status;
}

/* --- directories ---------------------------------------------------------- */

/* The number of blocks from one begin to the next. */
static uint64_t
blocks_between(const block_cut *cut, const block_begin *begin)
{
	return begin[1].row - begin[0].row == 1 ?
		(begin[1].units - begin[0].units + cut->piece_units - 1) / cut->piece_units : 1;
}

static gsort_block *
write_blocks(const gsort_job *job, const block_cut *cut, gsort_block *block,
			 const block_begin *begin)
{
	uint64_t	pieces = blocks_between(cut, begin);
	uint64_t	units = begin[1].units - begin[0].units;
	int			with_ties = tie_bits_wanted(&job->options);

	for (uint64_t piece = 0; piece < pieces; piece++, block++)
	{
		uint64_t	piece_units = pieces == 1 ? units : gsort_min_u64(units, cut->piece_units);

		block->first_row = begin->row + (piece > 0);
		block->rows = piece == 0 ? (uint32_t) (begin[1].row - begin[0].row) : 0;
		block->flags = (piece > 0 ? GSORT_BLOCK_CONTINUED : 0) |
			(piece + 1 < pieces ? GSORT_BLOCK_CONTINUES : 0);
		block->row_bytes = (uint32_t) (piece_units * 8);
		block->bytes = block->row_bytes;
		if (with_ties)
			block->bytes += tie_words_of_block(block->rows) * 8;
		units -= piece_units;
	}
	return block;
}

gsort_status
gsort_make_directory(gsort_job *job, block_begin *begins, uint64_t n)
{
	block_cut	cut = block_cut_make(job->options.block_bytes,
									 tie_bits_wanted(&job->options), 0);
	uint64_t	blocks = 0;
	gsort_block *block;

	if (n > 0)
		begins[n] = (block_begin) {job->rows, job->fed_units};
	for (uint64_t i = 0; i < n; i++)
		blocks += blocks_between(&cut, &begins[i]);
	job->blocks = malloc((blocks + 1) * sizeof(gsort_block));
	if (job->blocks == NULL)
		return gsort_fail(job->device, GSORT_NOMEM, "out of memory for the directory");
	block = job->blocks;
	for (uint64_t i = 0; i < n; i++)
		block = write_blocks(job, &cut, block, &begins[i]);
	job->n_blocks = blocks;
	return GSORT_OK;
}

gsort_status
gsort_make_order_directory(gsort_job *job)
{
	uint64_t	each = job->options.block_bytes;
	uint64_t	n = (job->ended_rows + each - 1) / each;

	job->blocks = calloc(n + 1, sizeof(gsort_block));
	if (job->blocks == NULL)
		return gsort_fail(job->device, GSORT_NOMEM, "out of memory for the directory");
	for (uint64_t i = 0; i < n; i++)
	{
		gsort_block *block = &job->blocks[i];

		block->first_row = i * each;
		block->rows = (uint32_t) gsort_min_u64(each, job->ended_rows - block->first_row);
		block->row_bytes = (block->rows + 7) / 8 * 8;
		block->bytes = block->row_bytes;
	}
	job->n_blocks = n;
	return GSORT_OK;
}

void
gsort_free_directory(gsort_job *job)
{
	free(job->blocks);
	job->blocks = NULL;
	job->n_blocks = 0;
}

/* --- fetching ------------------------------------------------------------- */

static int
directory_stands(const gsort_job *job)
{
	return job->state == GSORT_RUN_FINISHED || job->state == GSORT_RUN_MERGED;
}

gsort_status
gsort_job_blocks(gsort_job *job, const gsort_block **blocks, uint64_t *n)
{
	if (!directory_stands(job))
		return gsort_bad_argument(job->device, "blocks of a run that is not finished");
	*blocks = job->blocks;
	*n = job->n_blocks;
	return GSORT_OK;
}

gsort_status
gsort_job_fetch(gsort_job *job, uint64_t number, void *dst, uint64_t tag)
{
	const gsort_block *block;
	gsort_status status;

	if (gsort_is_lost(job->device))
		return GSORT_DEVICE_LOST;
	if (job->closing || !directory_stands(job) || number >= job->n_blocks)
		return gsort_bad_argument(job->device, "fetch");
	block = &job->blocks[number];
	status = job->device->ops->job_fetch(job, block, dst, tag);
	if (status == GSORT_OK)
	{
		job->fetches++;
		job->stats.bytes_out += block->bytes;
	}
	return status;
}
