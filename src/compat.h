/*
 * compat.h
 *	  Version differences of PostgreSQL, one shim for each upstream change.
 *	  Only this file looks at PG_VERSION_NUM.  Code targets the newest form.
 */
#ifndef GPUSORT_COMPAT_H
#define GPUSORT_COMPAT_H

#include "access/amapi.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "optimizer/cost.h"
#include "optimizer/pathnode.h"
#include "optimizer/plancat.h"
#include "optimizer/planner.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/bgworker_internals.h"
#include "storage/latch.h"
#include "utils/rel.h"
#include "utils/tuplesort.h"
#include "utils/wait_event.h"

/* 15.1 has InitMaterializedSRF() (a19e5cee635). */
#if PG_VERSION_NUM < 150001
#error "gpusort needs PostgreSQL 15.1 or newer"
#endif

/* 16 took varlenas' macros out of postgres.h (d952373a987). */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif
#include "commands/explain.h"

/* 18 lets extensions add options to EXPLAIN (4fd02bf7cf9, c65bc2e1d14).  19
 * checks them in settings too. */
#if PG_VERSION_NUM >= 180000
#define COMPAT_EXPLAIN_OPTIONS
#endif
#if PG_VERSION_NUM >= 190000
#define compat_register_explain_option(name, handler) \
	RegisterExtensionExplainOption(name, handler, GUCCheckBooleanExplainOption)
#else
#define compat_register_explain_option(name, handler) RegisterExtensionExplainOption(name, handler)
#endif

/* The options with which EXPLAIN shows a generic plan.  15 shows one without an
 * option, and fails if a parameter selects partitions. */
#if PG_VERSION_NUM >= 160000
#define COMPAT_GENERIC_PLAN \
	list_make1(makeDefElem(pstrdup("generic_plan"), (Node *) makeBoolean(true), -1))
#else
#define COMPAT_GENERIC_PLAN NIL
#endif

/* 19 has the type oid8.  Before, the name is xid8's, which is sorted in the
 * same way. */
#if PG_VERSION_NUM >= 190000
#define COMPAT_OID8OID OID8OID
#else
#define COMPAT_OID8OID XID8OID
#endif

/* 18 has it, before a declaration.  Earlier, pg_attribute_noreturn stood behind
 * it. */
#if PG_VERSION_NUM < 180000
#define pg_noreturn pg_attribute_noreturn()
#endif

/* 19 has a name for each usual handler of a signal, of the type that pqsignal
 * takes.  Earlier, the C library's names served. */
#if PG_VERSION_NUM < 190000
#define PG_SIG_IGN SIG_IGN
#endif

/* 17 lets extensions name wait events (c9af054653).  Earlier, all are shown as
 * Extension. */
static inline uint32
compat_wait_event(const char *name)
{
#if PG_VERSION_NUM >= 170000
	return WaitEventExtensionNew(name);
#else
	(void) name;
	return PG_WAIT_EXTENSION;
#endif
}

/* 16 has one function for the owners of all objects (afbfc02983). */
#if PG_VERSION_NUM >= 160000
#define compat_owns_table(table) object_ownercheck(RelationRelationId, table, GetUserId())
#else
#define compat_owns_table(table) pg_class_ownercheck(table, GetUserId())
#endif

/* 18 has a function of its own for expressions without a result. */
#if PG_VERSION_NUM >= 180000
#define compat_eval_projection(projection) \
	ExecEvalExprNoReturnSwitchContext(&(projection)->pi_state, (projection)->pi_exprContext)
#else
#define compat_eval_projection(projection) \
	((void) ExecEvalExprSwitchContext(&(projection)->pi_state, (projection)->pi_exprContext, \
									  &(bool) {false}))
#endif

/* 18 gives a pathkey a comparison type instead of a btree strategy
 * (8123e91f5aeb). */
#if PG_VERSION_NUM >= 180000
#define compat_pathkey_strategy(pathkey) \
	((pathkey)->pk_cmptype == COMPARE_GT ? BTGreaterStrategyNumber : BTLessStrategyNumber)
#else
#define compat_pathkey_strategy(pathkey) ((pathkey)->pk_strategy)
#endif

/* 18 counts the disabled nodes of a path beside its costs (e22253467942).
 * Earlier, a disabled node had a huge cost: call compat_disable_node after the
 * path's costs are set. */
#if PG_VERSION_NUM >= 180000
#define compat_copy_disabled_nodes(path, child) ((path)->disabled_nodes = (child)->disabled_nodes)
#define compat_disabled_nodes(path) ((path)->disabled_nodes)
#define compat_disable_node(path) ((path)->disabled_nodes++)
#define compat_add_disabled_nodes(path, n) ((path)->disabled_nodes += (n))
#else
#define compat_copy_disabled_nodes(path, child) ((void) 0)
#define compat_disabled_nodes(path) 0
#define compat_disable_node(path) \
	((path)->startup_cost += disable_cost, (path)->total_cost += disable_cost)
#define compat_add_disabled_nodes(path, n) ((void) 0)
#endif

/* 18 names the order of an operator by a comparison type, whose numbers are
 * those of btree's strategies. */
#if PG_VERSION_NUM >= 180000
typedef CompareType compat_ordering_strategy;
#else
typedef int16 compat_ordering_strategy;
#endif

/* 19 passes the subpaths of an Append in a struct. */
#if PG_VERSION_NUM >= 190000
#define compat_append_path(root, rel, of) \
	((Path *) create_append_path(root, rel, (AppendPathInput) {.subpaths = (of)}, NIL, NULL, 0, \
								 false, -1))
#else
#define compat_append_path(root, rel, of) \
	((Path *) create_append_path(root, rel, of, NIL, NIL, NULL, 0, false, -1))
#endif

/* 16 sorts for aggregates with an ORDER BY too, if one sort serves them
 * (1349d2790bf). */
#if PG_VERSION_NUM >= 160000
#define compat_sorts_for_groups_only(root) \
	(list_length((root)->group_pathkeys) == (root)->num_groupby_pathkeys)
#else
#define compat_sorts_for_groups_only(root) true
#endif

/* 16 marks aggregates that rely on such a sort (1349d2790bf). */
#if PG_VERSION_NUM >= 160000
#define compat_relies_on_order(aggref) ((aggref)->aggpresorted)
#else
#define compat_relies_on_order(aggref) ((void) (aggref), false)
#endif

/* 19 sorts integers by radix.  A comparison that an Agg's sort is spared saves
 * this much of what cost_sort charges (bench/NOTES.md). */
#if PG_VERSION_NUM >= 190000
#define COMPAT_INNER_COMPARISON 0.2
#else
#define COMPAT_INNER_COMPARISON 0.45
#endif

/* 16 returns the Vars as multibitmapsets. */
#if PG_VERSION_NUM >= 160000
#include "access/sysattr.h"
#include "nodes/multibitmapset.h"
#define compat_is_nonnullable(var, vars) \
	mbms_is_member((var)->varno, (var)->varattno - FirstLowInvalidHeapAttributeNumber, vars)
#else
#define compat_is_nonnullable(var, vars) list_member(vars, var)
#endif

/* 16 lists all equal aggregates (d5b760ecb5e). */
#if PG_VERSION_NUM >= 160000
#define compat_aggref_of(info) linitial_node(Aggref, (info)->aggrefs)
#else
#define compat_aggref_of(info) ((info)->representative_aggref)
#endif

/* 16 drops columns of GROUP BY and DISTINCT that others imply (8d83a5d0a2). */
#if PG_VERSION_NUM >= 160000
#define compat_group_clause(root) ((root)->processed_groupClause)
#define compat_distinct_clause(root) ((root)->processed_distinctClause)
#else
#define compat_group_clause(root) ((root)->parse->groupClause)
#define compat_distinct_clause(root) ((root)->parse->distinctClause)
#endif

/* 17 keeps the condition in the path, and in the window functions of a query
 * that has no paths yet.  Earlier, the clause had it. */
#if PG_VERSION_NUM >= 170000
#define compat_run_condition(path) ((path)->runCondition)
#else
#define compat_run_condition(path) ((path)->winclause->runCondition)
#endif

/* Has one of the query's windows a condition? */
static inline bool
compat_has_run_condition(const Query *query)
{
	ListCell   *lc;

#if PG_VERSION_NUM >= 170000
	foreach(lc, query->targetList)
	{
		const WindowFunc *func = (const WindowFunc *) lfirst_node(TargetEntry, lc)->expr;

		if (IsA(func, WindowFunc) && func->runCondition != NIL)
			return true;
	}
#else
	foreach(lc, query->windowClause)
	{
		if (lfirst_node(WindowClause, lc)->runCondition != NIL)
			return true;
	}
#endif
	return false;
}

/* 19 has one node for Unique, whatever is above it (24225ad9aa). */
#if PG_VERSION_NUM >= 190000
#define create_upper_unique_path create_unique_path
#define UpperUniquePath UniquePath
#define T_UpperUniquePath T_UniquePath
#endif

/* 18 counts the range table's entries without those made for grouping. */
#if PG_VERSION_NUM >= 180000
#define compat_rtable_size(es) ((es)->rtable_size)
#else
#define compat_rtable_size(es) list_length((es)->rtable)
#endif

/* Returns the cost of sorting these rows beside their input, whether or not
 * enable_sort is off. */
static inline Cost
compat_cost_of_sort(PlannerInfo *root, List *pathkeys, double rows, int width, int sort_mem)
{
	Path		sort;

#if PG_VERSION_NUM >= 180000
	cost_sort(&sort, root, pathkeys, 0, 0, rows, width, 0, sort_mem, -1);
	return sort.total_cost;
#else
	cost_sort(&sort, root, pathkeys, 0, rows, width, 0, sort_mem, -1);
	return sort.total_cost - (enable_sort ? 0 : disable_cost);
#endif
}

/* 19 passes the ExplainState to the planner hook. */
#if PG_VERSION_NUM >= 190000
#define COMPAT_PLANNER_PARAMS \
	Query *parse, const char *query_string, int cursor_options, \
	ParamListInfo bound_params, ExplainState *explain_state
#define COMPAT_PLANNER_ARGS parse, query_string, cursor_options, bound_params, explain_state
#else
#define COMPAT_PLANNER_PARAMS \
	Query *parse, const char *query_string, int cursor_options, ParamListInfo bound_params
#define COMPAT_PLANNER_ARGS parse, query_string, cursor_options, bound_params
#endif

/* 16 lets a custom scan name the kind of its slot before that is made
 * (css->slotOps).  Earlier, it was virtual, and a slot of another kind is made
 * beside it. */
#if PG_VERSION_NUM >= 160000
#define compat_set_slot_ops(css, ops) ((css)->slotOps = (ops))
#define compat_scan_slot(css, ops) ((css)->ss.ss_ScanTupleSlot)
#else
#define compat_set_slot_ops(css, ops) ((void) (ops))
#define compat_scan_slot(css, ops) \
	ExecInitExtraTupleSlot((css)->ss.ps.state, (css)->ss.ss_ScanTupleSlot->tts_tupleDescriptor, ops)
#endif

/* 17 replaced procs' numbers and backend ids by one ProcNumber
 * (024c52111757). */
#if PG_VERSION_NUM >= 170000
#define compat_proc_number(proc) GetNumberFromPGProc(proc)
#else
#define compat_proc_number(proc) ((proc)->pgprocno)
#endif

/* Has RegisterBackgroundWorker, which returns nothing, just now added a worker
 * of this library's to the postmaster's list?  The last worker is the first in
 * the list.  18 links it both ways. */
static inline bool
compat_worker_was_registered(const char *library)
{
#if PG_VERSION_NUM >= 180000
	if (dlist_is_empty(&BackgroundWorkerList))
		return false;
	return strcmp(dlist_head_element(RegisteredBgWorker, rw_lnode,
									 &BackgroundWorkerList)->rw_worker.bgw_library_name,
				  library) == 0;
#else
	if (slist_is_empty(&BackgroundWorkerList))
		return false;
	return strcmp(slist_head_element(RegisteredBgWorker, rw_lnode,
									 &BackgroundWorkerList)->rw_worker.bgw_library_name,
				  library) == 0;
#endif
}

/* 17 lets a resource owner have a WaitEventSet (50c67c2019).  Earlier, a memory
 * context had it. */
#if PG_VERSION_NUM >= 170000
#define compat_create_wait_event_set(n) CreateWaitEventSet(NULL, (n))
#else
#define compat_create_wait_event_set(n) CreateWaitEventSet(TopMemoryContext, (n))
#endif

/* 16 keeps the extra data of a check hook in a memory context of its own.
 * Earlier, it was malloc'd. */
#if PG_VERSION_NUM >= 160000
#define compat_guc_malloc(size) guc_malloc(LOG, (size))
#else
#define compat_guc_malloc(size) malloc(size)
#endif

/* 16 renamed the counts of a table's statistics (d540a02a724b). */
#if PG_VERSION_NUM >= 160000
#define compat_tuples_returned(rel) ((rel)->pgstat_info->counts.tuples_returned)
#else
#define compat_tuples_returned(rel) ((rel)->pgstat_info->t_counts.t_tuples_returned)
#endif

static inline void
compat_count_heap_rows(Relation rel, uint64 rows)
{
	if (pgstat_should_count_relation(rel))
		compat_tuples_returned(rel) += rows;
}

/* 16 makes parts of sort keys for all providers that can: pg_strxfrm_prefix. */
#if PG_VERSION_NUM >= 160000
#define COMPAT_HAS_STRXFRM_PREFIX 1
#else
#define COMPAT_HAS_STRXFRM_PREFIX 0
#endif

/* Needs USE_ICU and utils/pg_locale.h. */
#if PG_VERSION_NUM >= 190000
#define compat_icu_collator(locale) ((locale)->icu.ucol)
#else
#define compat_icu_collator(locale) ((locale)->info.icu.ucol)
#endif

/* 18 makes the C library's sort keys though it does not trust them.  In 16 and
 * 17 pg_strxfrm raises an error then.  Needs utils/pg_locale.h. */
#if PG_VERSION_NUM >= 180000
#define compat_strxfrm_libc(key, string, room, locale) pg_strxfrm(key, string, room, locale)
#else
#define compat_strxfrm_libc(key, string, room, locale) \
	((locale) == NULL ? strxfrm(key, string, room) : \
	 strxfrm_l(key, string, room, (locale)->info.lt))
#endif

/* 18 keeps with the locale whether it sorts as C does. */
#if PG_VERSION_NUM >= 180000
#define compat_collation_is_c(collation) (pg_newlocale_from_collation(collation)->collate_is_c)
#else
#define compat_collation_is_c(collation) lc_collate_is_c(collation)
#endif

/* 19 passes the range table's entry, and a constant struct describes an access
 * method.  Earlier, each open index had a copy of it. */
#if PG_VERSION_NUM >= 190000
#define compat_relation_info_hook build_simple_rel_hook
#define compat_relation_info_hook_type build_simple_rel_hook_type
#define COMPAT_RELATION_INFO_PARAMS PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte
#define COMPAT_RELATION_INFO_ARGS root, rel, rte
#define compat_relation_info_table (rte->relid)
#define compat_relation_info_inherits (rte->inh)
#else
#define compat_relation_info_hook get_relation_info_hook
#define compat_relation_info_hook_type get_relation_info_hook_type
#define COMPAT_RELATION_INFO_PARAMS \
	PlannerInfo *root, Oid relation, bool inherits, RelOptInfo *rel
#define COMPAT_RELATION_INFO_ARGS root, relation, inherits, rel
#define compat_relation_info_table relation
#define compat_relation_info_inherits inherits
#endif

/* Sets the function that builds this index.  It stays as long as the index is
 * open.  All indexes are of one access method, with one function. */
static inline void
compat_set_ambuild(Relation index, ambuild_function build)
{
#if PG_VERSION_NUM >= 190000
	static IndexAmRoutine changed;

	changed = *index->rd_indam;
	changed.ambuild = build;
	index->rd_indam = &changed;
#else
	index->rd_indam->ambuild = build;
#endif
}

/* 19 takes flags for these scans. */
#if PG_VERSION_NUM >= 190000
#define compat_begin_parallel_scan(rel, scan) table_beginscan_parallel(rel, scan, SO_NONE)
#define compat_begin_tid_range_scan(rel, snapshot, first, last) \
	table_beginscan_tidrange(rel, snapshot, first, last, SO_NONE)
#else
#define compat_begin_parallel_scan(rel, scan) table_beginscan_parallel(rel, scan)
#define compat_begin_tid_range_scan(rel, snapshot, first, last) \
	table_beginscan_tidrange(rel, snapshot, first, last)
#endif

/* 18 asks for the direction of the order, not for a strategy
 * (8123e91f5aeb). */
#if PG_VERSION_NUM >= 180000
#define compat_sort_support_of_index(index, descending, key) \
	PrepareSortSupportFromIndexRel(index, descending, key)
#else
#define compat_sort_support_of_index(index, descending, key) \
	PrepareSortSupportFromIndexRel(index, (descending) ? BTGreaterStrategyNumber : \
								   BTLessStrategyNumber, key)
#endif

/* 17 lets LockHeldByMe ask for a stronger lock too. */
#if PG_VERSION_NUM >= 170000
#define compat_lock_held_by_me(tag, mode) LockHeldByMe(tag, mode, false)
#else
#define compat_lock_held_by_me(tag, mode) LockHeldByMe(tag, mode)
#endif

/* 17 writes whole relations beside the shared buffers, with their WAL
 * (8af256524893): storage/bulk_write.h. */
#if PG_VERSION_NUM >= 170000
#define COMPAT_HAS_BULK_WRITE 1
#else
#define COMPAT_HAS_BULK_WRITE 0
#endif

/* 16 renamed a relation's file, and aligns pages that are written directly. */
#if PG_VERSION_NUM >= 160000
#define compat_locator(rel) ((rel)->rd_locator)
#define compat_alloc_page() ((Page) palloc_aligned(BLCKSZ, PG_IO_ALIGN_SIZE, 0))
#else
#define compat_locator(rel) ((rel)->rd_node)
#define compat_alloc_page() ((Page) palloc(BLCKSZ))
#endif

/* 19 prepares a descriptor for forming and reading tuples. */
#if PG_VERSION_NUM >= 190000
#define compat_finish_tuple_desc(desc) TupleDescFinalize(desc)
#else
#define compat_finish_tuple_desc(desc) ((void) (desc))
#endif

#endif							/* GPUSORT_COMPAT_H */
