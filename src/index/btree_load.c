/*
 * btree_load.c
 *	  Builds a btree bottom-up from index tuples in the index's order.
 *
 * In:  index tuples, in the order of the index's keys and of heap TIDs.
 * Out: the index's pages, byte for byte those of PostgreSQL's own build.
 *
 * nbtree's README has the rules of a page.  The pages of a level are filled
 * from left to right, and each level has one page in memory:
 *
 *	  level 2				[ -inf | c                 (filled)
 *						   /		\
 *	  level 1	   [ -inf | b ] c  [ -inf | d          (filled)
 *				  /		  \		  /		  \
 *	  leaves	[ .. ] b [ .. ] c [ .. ] d [ ..        (filled)
 *
 * When a page is full, its last tuple moves to the next page.  Truncated to the
 * columns that distinguish it from the tuple before, it stays as the high key
 * of the full page, and becomes the low key of the next one.  The full page is
 * written, and its low key goes to the level above as the pivot tuple that
 * leads to it.  The first pivot of a page is less than everything, so it has no
 * columns.
 *
 * Equal tuples are merged into one with a list of heap TIDs before they go to a
 * leaf, if the index may do that (nbtdedup.c).
 *
 * Runs in the backend that builds the index, or in a worker of the build.  All
 * memory is in the load's own context, except for pages, which are the
 * queue's.
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "compat.h"
#include "index/btree_load.h"
#include "index/page_queue.h"

/* Tuples with lists of heap TIDs take at most this part of a page, so that a
 * page's fill factor is met. */
#define PAGE_PART_OF_LIST	10

/* The page of a level that is being filled. */
typedef struct Level
{
	uint32		number;			/* 0: leaves */
	Page		page;
	BlockNumber block;
	OffsetNumber last;			/* of the last tuple; P_HIKEY: the page is empty */
	Size		last_list_bytes;	/* of its list of heap TIDs, which a high key would not have */
	Size		free_at_full;	/* bytes that stay free on a full page */
	IndexTuple	low_key;		/* NULL: the page is empty, and the first one of its level */
	struct Level *above;		/* NULL: the level has one page so far */
} Level;

struct GpuSortBtreeLoad
{
	Relation	index;
	BTScanInsert key;
	int			n_keys;
	GpuSortPageQueue *pages;
	BlockNumber next_block;
	Level	   *leaves;			/* NULL: there is no tuple */
	BTDedupState equal;			/* tuples that may be merged; NULL: none may */
	IndexTuple	first_equal;	/* room for the first one of those */
	MemoryContext context;
};

static void add_tuple(GpuSortBtreeLoad *load, Level *level, IndexTuple tuple, Size list_bytes);

/* --- pages ---------------------------------------------------------------- */

/* Returns an empty page with room for a high key. */
static Page
make_page(GpuSortBtreeLoad *load, uint32 level)
{
	Page		page = gpusort_page_queue_page(load->pages);
	BTPageOpaque opaque;

	_bt_pageinit(page, BLCKSZ);
	opaque = BTPageGetOpaque(page);
	opaque->btpo_prev = P_NONE;
	opaque->btpo_next = P_NONE;
	opaque->btpo_level = level;
	opaque->btpo_flags = level == 0 ? BTP_LEAF : 0;
	opaque->btpo_cycleid = 0;
	((PageHeader) page)->pd_lower += sizeof(ItemIdData);
	return page;
}

static Level *
make_level(GpuSortBtreeLoad *load, uint32 number)
{
	Level	   *level = palloc0(sizeof(Level));

	level->number = number;
	level->page = make_page(load, number);
	level->block = load->next_block++;
	level->last = P_HIKEY;
	level->free_at_full = number == 0 ? BTGetTargetPageFreeSpace(load->index) :
		BLCKSZ * (100 - BTREE_NONLEAF_FILLFACTOR) / 100;
	return level;
}

static void
put_item(Page page, OffsetNumber at, IndexTuple tuple, Size bytes)
{
	if (PageAddItem(page, (void *) tuple, bytes, at, false, false) != at)
		elog(ERROR, "gpusort could not add a tuple to a page of an index");
}

/* Puts a pivot tuple that is less than everything, and leads to where the given
 * one does. */
static void
put_least_pivot(Page page, IndexTuple pivot)
{
	IndexTupleData least = *pivot;

	least.t_info = sizeof(IndexTupleData);
	BTreeTupleSetNAtts(&least, 0, false);
	put_item(page, P_FIRSTKEY, &least, sizeof(IndexTupleData));
}

static IndexTuple
tuple_at(Page page, OffsetNumber at)
{
	return (IndexTuple) PageGetItem(page, PageGetItemId(page, at));
}

/* A page that is the last one of its level has no high key, so its tuples move
 * one place down. */
static void
drop_room_for_high_key(Page page)
{
	ItemId		high_key = PageGetItemId(page, P_HIKEY);
	OffsetNumber last = PageGetMaxOffsetNumber(page);

	memmove(high_key, high_key + 1, (last - P_HIKEY) * sizeof(ItemIdData));
	((PageHeader) page)->pd_lower -= sizeof(ItemIdData);
}

/* --- levels --------------------------------------------------------------- */

/* Tells the level above of the level's page. */
static void
link_page(GpuSortBtreeLoad *load, Level *level)
{
	BTreeTupleSetDownLink(level->low_key, level->block);
	add_tuple(load, level->above, level->low_key, 0);
	pfree(level->low_key);
	level->low_key = NULL;
}

/* Makes the last tuple of a page, which is on the next page already, its high
 * key, and returns that. */
static IndexTuple
make_high_key(GpuSortBtreeLoad *load, Level *level)
{
	Page		page = level->page;
	ItemId		last = PageGetItemId(page, level->last);

	*PageGetItemId(page, P_HIKEY) = *last;
	ItemIdSetUnused(last);
	((PageHeader) page)->pd_lower -= sizeof(ItemIdData);
	if (level->number == 0)
	{
		IndexTuple	cut = _bt_truncate(load->index,
									   tuple_at(page, OffsetNumberPrev(level->last)),
									   tuple_at(page, P_HIKEY), load->key);

		if (!PageIndexTupleOverwrite(page, P_HIKEY, (void *) cut, IndexTupleSize(cut)))
			elog(ERROR, "gpusort could not add a high key to a page of an index");
		pfree(cut);
	}
	return tuple_at(page, P_HIKEY);
}

/* Writes a full page, and goes on with the next one of its level. */
static void
begin_next_page(GpuSortBtreeLoad *load, Level *level)
{
	Page		next = make_page(load, level->number);
	BlockNumber next_block = load->next_block++;
	ItemId		last = PageGetItemId(level->page, level->last);
	IndexTuple	high_key = tuple_at(level->page, level->last);

	if (level->number == 0)
		put_item(next, P_FIRSTKEY, high_key, ItemIdGetLength(last));
	else
		put_least_pivot(next, high_key);
	high_key = make_high_key(load, level);

	if (level->above == NULL)
		level->above = make_level(load, level->number + 1);
	link_page(load, level);
	level->low_key = CopyIndexTuple(high_key);

	BTPageGetOpaque(level->page)->btpo_next = next_block;
	BTPageGetOpaque(next)->btpo_prev = level->block;
	gpusort_page_queue_add(load->pages, level->block, level->page);
	level->page = next;
	level->block = next_block;
	level->last = P_FIRSTKEY;
}

/*
 * Is the page too full for an item of this size?  A leaf keeps room for a heap
 * TID, which its high key may get.  A page is left when it is filled as far as
 * it should be, but not before it has two tuples.
 */
static bool
is_full(const Level *level, Size item_bytes, Size last_list_bytes)
{
	Size		free_bytes = PageGetFreeSpace(level->page);
	Size		room_for_tid = level->number == 0 ? MAXALIGN(sizeof(ItemPointerData)) : 0;

	return free_bytes < item_bytes + room_for_tid ||
		(free_bytes + last_list_bytes < level->free_at_full && level->last > P_FIRSTKEY);
}

/* Adds a tuple behind all others of its level.  list_bytes: of its list of heap
 * TIDs. */
static void
add_tuple(GpuSortBtreeLoad *load, Level *level, IndexTuple tuple, Size list_bytes)
{
	Size		item_bytes = MAXALIGN(IndexTupleSize(tuple));
	Size		last_list_bytes = level->last_list_bytes;

	CHECK_FOR_INTERRUPTS();
	level->last_list_bytes = list_bytes;
	if (is_full(level, item_bytes, last_list_bytes))
		begin_next_page(load, level);
	if (level->last == P_HIKEY)
	{
		/* nothing is before the level's first tuple */
		level->low_key = palloc0(sizeof(IndexTupleData));
		level->low_key->t_info = sizeof(IndexTupleData);
		BTreeTupleSetNAtts(level->low_key, 0, false);
	}
	level->last = OffsetNumberNext(level->last);
	if (level->number > 0 && level->last == P_FIRSTKEY)
		put_least_pivot(level->page, tuple);
	else
		put_item(level->page, level->last, tuple, item_bytes);
}

/* Writes the last page of each level.  The only page of the highest level is
 * the root. */
static void
finish_levels(GpuSortBtreeLoad *load, BlockNumber *root, uint32 *root_level)
{
	*root = P_NONE;
	*root_level = 0;
	for (Level *level = load->leaves; level != NULL; level = level->above)
	{
		if (level->above != NULL)
			link_page(load, level);
		else
		{
			BTPageGetOpaque(level->page)->btpo_flags |= BTP_ROOT;
			*root = level->block;
			*root_level = level->number;
		}
		drop_room_for_high_key(level->page);
		gpusort_page_queue_add(load->pages, level->block, level->page);
	}
}

/* --- equal tuples --------------------------------------------------------- */

static BTDedupState
make_list_of_equal(void)
{
	BTDedupState equal = palloc0(sizeof(BTDedupStateData));

	equal->deduplicate = true;
	equal->maxpostingsize = MAXALIGN_DOWN(BLCKSZ / PAGE_PART_OF_LIST) - sizeof(ItemIdData);
	equal->htids = palloc(equal->maxpostingsize);
	return equal;
}

/* Adds the tuples that are equal, as one. */
static void
add_equal(GpuSortBtreeLoad *load)
{
	BTDedupState equal = load->equal;

	if (equal->nitems == 1)
		add_tuple(load, load->leaves, equal->base, 0);
	else
	{
		IndexTuple	merged = _bt_form_posting(equal->base, equal->htids, equal->nhtids);

		add_tuple(load, load->leaves, merged,
				  IndexTupleSize(merged) - BTreeTupleGetPostingOffset(merged));
		pfree(merged);
	}
	equal->base = NULL;
	equal->nhtids = 0;
	equal->nitems = 0;
	equal->phystupsize = 0;
	equal->nmaxitems = 0;
}

/* Tuples are merged only if their keys have the same bytes.  Some releases of
 * PostgreSQL promise that equal keys of type bpchar have them. */
static void
add_or_join(GpuSortBtreeLoad *load, IndexTuple tuple, bool equals_last)
{
	if (load->equal == NULL)
	{
		add_tuple(load, load->leaves, tuple, 0);
		return;
	}
	if (equals_last &&
		_bt_keep_natts_fast(load->index, load->equal->base, tuple) > load->n_keys &&
		_bt_dedup_save_htid(load->equal, tuple))
		return;
	if (load->equal->base != NULL)
		add_equal(load);
	_bt_dedup_start_pending(load->equal, tuple, InvalidOffsetNumber);
}

/* --- interface ------------------------------------------------------------ */

GpuSortBtreeLoad *
gpusort_btree_load_begin(Relation index, bool unique, shm_mq_handle *writer)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "gpusort btree load",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old_context = MemoryContextSwitchTo(context);
	GpuSortBtreeLoad *load = palloc0(sizeof(GpuSortBtreeLoad));

	load->index = index;
	load->context = context;
	load->key = _bt_mkscankey(index, NULL);
	load->n_keys = IndexRelationGetNumberOfKeyAttributes(index);
	/* there is no metapage yet that would tell */
	load->key->allequalimage = _bt_allequalimage(index, true);
	load->pages = gpusort_page_queue_begin(index, writer);
	load->next_block = BTREE_METAPAGE + 1;
	if (load->key->allequalimage && !unique && BTGetDeduplicateItems(index))
	{
		load->equal = make_list_of_equal();
		load->first_equal = palloc(INDEX_SIZE_MASK + 1);
	}
	MemoryContextSwitchTo(old_context);
	return load;
}

void
gpusort_btree_load_add(GpuSortBtreeLoad *load, IndexTuple tuple, bool equals_last)
{
	MemoryContext old_context = MemoryContextSwitchTo(load->context);

	if (load->leaves == NULL)
		load->leaves = make_level(load, 0);
	add_or_join(load, tuple, equals_last);
	MemoryContextSwitchTo(old_context);
}

void
gpusort_btree_load_keep(GpuSortBtreeLoad *load)
{
	if (load->equal == NULL || load->equal->base == NULL || load->equal->base == load->first_equal)
		return;
	memcpy(load->first_equal, load->equal->base, IndexTupleSize(load->equal->base));
	load->equal->base = load->first_equal;
}

/* The metapage is written last, though it is the first block. */
void
gpusort_btree_load_end(GpuSortBtreeLoad *load)
{
	MemoryContext old_context = MemoryContextSwitchTo(load->context);
	BlockNumber root;
	uint32		root_level;
	Page		metapage;

	if (load->equal != NULL && load->equal->base != NULL)
		add_equal(load);
	finish_levels(load, &root, &root_level);
	metapage = gpusort_page_queue_page(load->pages);
	_bt_initmetapage(metapage, root, root_level, load->key->allequalimage);
	gpusort_page_queue_add(load->pages, BTREE_METAPAGE, metapage);
	gpusort_page_queue_end(load->pages);
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(load->context);
}
