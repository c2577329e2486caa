/*
 * index_hooks.c
 *	  Lets builds of btree indexes come to index_build.c.
 *
 * In:  the planner's question for a table, as plan_create_index_workers asks
 *	    it.  PostgreSQL's index_build calls that right before it calls the
 *	    access method's ambuild: for CREATE INDEX and REINDEX, and for whatever
 *	    else builds indexes of user tables.
 * Out: those of the table's btree indexes that this session has open, with an
 *	    ambuild of ours in their relation cache entries.
 *
 * PostgreSQL has no hook for index builds.  No catalog entry changes.  Nothing
 * but a build calls ambuild.  An entry that is rebuilt has btbuild again, and
 * the build is PostgreSQL's.  Other libraries' ambuild is left alone.
 *
 * If max_parallel_maintenance_workers is 0, the planner is not asked, and all
 * builds are PostgreSQL's.
 *
 * Runs in the backend that builds the index.
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/catalog.h"
#include "catalog/pg_am.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "utils/relcache.h"

#include "compat.h"
#include "index/index_build.h"
#include "settings.h"

static compat_relation_info_hook_type prev_relation_info_hook;

static void
take_over(Relation index)
{
	if (index->rd_rel->relkind == RELKIND_INDEX && index->rd_rel->relam == BTREE_AM_OID &&
		index->rd_indam->ambuild == btbuild)
		compat_set_ambuild(index, gpusort_index_build);
}

/* Does this session hold a lock that a build takes on its index?  A build
 * CONCURRENTLY takes the weaker one. */
static bool
is_locked_for_build(Oid index)
{
	LOCKTAG		tag;

	SET_LOCKTAG_RELATION(tag, MyDatabaseId, index);
	return compat_lock_held_by_me(&tag, AccessExclusiveLock) ||
		compat_lock_held_by_me(&tag, RowExclusiveLock);
}

/* Takes over the table's indexes that are open: the index that is to be built
 * is.  Other indexes may be damaged, or lack their access method's library, so
 * they must not be opened.  The table's lock keeps all of them from being
 * dropped. */
static void
take_over_open_indexes(Oid table)
{
	Relation	heap = table_open(table, NoLock);
	List	   *indexes = IsSystemRelation(heap) ? NIL : RelationGetIndexList(heap);
	ListCell   *lc;

	foreach(lc, indexes)
	{
		Relation	index;

		if (!is_locked_for_build(lfirst_oid(lc)))
			continue;
		index = RelationIdGetRelation(lfirst_oid(lc));
		if (!RelationIsValid(index))
			continue;
		if (index->rd_refcnt > 1)
			take_over(index);
		RelationClose(index);
	}
	list_free(indexes);
	table_close(heap, NoLock);
}

/* Does plan_create_index_workers ask?  No query has a table that others may
 * inherit from, and no FROM. */
static bool
is_for_index_build(const PlannerInfo *root, bool inherits)
{
	const Query *query = root->parse;

	return query->jointree == NULL && inherits && root->parent_root == NULL &&
		query->commandType == CMD_SELECT && query->targetList == NIL &&
		list_length(query->rtable) == 1;
}

static void
gpusort_relation_info(COMPAT_RELATION_INFO_PARAMS)
{
	if (prev_relation_info_hook != NULL)
		prev_relation_info_hook(COMPAT_RELATION_INFO_ARGS);
	if (gpusort_index_builds && compat_relation_info_table >= FirstNormalObjectId &&
		is_for_index_build(root, compat_relation_info_inherits))
		take_over_open_indexes(compat_relation_info_table);
}

void
gpusort_index_install_hooks(void)
{
	prev_relation_info_hook = compat_relation_info_hook;
	compat_relation_info_hook = gpusort_relation_info;
}
