/*
 * index_why.c
 *	  Whether CREATE INDEX would build an index through the device, and why not.
 *
 * In:  a raw CREATE INDEX; settings; the state of the services.
 * Out: a verdict for each table whose index would be built.
 *
 * The conditions are those of index_hooks.c and index_build.c, in their order,
 * but no sample is taken, since that would call the functions of expressions.
 * Keys are resolved as DefineIndex does, which is not exported.  Only owners of
 * the table may ask, since only they may create an index.
 *
 * Runs in any backend.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/transam.h"
#include "catalog/catalog.h"
#include "catalog/namespace.h"
#include "catalog/pg_am.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "parser/parse_utilcmd.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"
#include "utils/syscache.h"

#include "compat.h"
#include "index/index_build.h"
#include "index/index_order.h"
#include "index/index_row.h"
#include "index/index_why.h"
#include "settings.h"
#include "job/stats.h"

/* Indexed by the reasons that a build finds. */
static const char *const names_of_reasons[] = {
#define NATIVE(enumerator, name, text, description) #name,
	GPUSORT_NATIVE_REASON_TABLE(NATIVE)
#undef NATIVE
};
static const char *const remedies[GPUSORT_NATIVE_REASONS] = {
	[GPUSORT_NATIVE_DISABLED] = "SET gpusort.enabled = on",
	[GPUSORT_NATIVE_NO_DEVICE] =
	"see the view gpusort_devices; gpusort.device selects the devices",
	[GPUSORT_NATIVE_FEW_ROWS] = "none; PostgreSQL builds a small index as fast",
	[GPUSORT_NATIVE_INDEX_KEY] =
	"another type, operator class or COLLATE, or another key in its place",
	[GPUSORT_NATIVE_COLLATION] =
	"another COLLATE; SET gpusort.libc_collations = verify, if it is off",
};

/* The index, as far as its order goes. */
typedef struct Described
{
	Oid			table;
	const char *table_name;
	TupleDesc	desc;			/* keys, then included columns */
	int			n_keys;
	GpuSortIndexKey keys[INDEX_MAX_KEYS];
	StringInfoData text;
} Described;

/* --- keys ----------------------------------------------------------------- */

/* Returns the type that an index has for a key of this type. */
static Oid
stored_type(Oid opclass, Oid type)
{
	HeapTuple	row = SearchSysCache1(CLAOID, ObjectIdGetDatum(opclass));
	Oid			stored;

	if (!HeapTupleIsValid(row))
		elog(ERROR, "cache lookup failed for opclass %u", opclass);
	stored = ((Form_pg_opclass) GETSTRUCT(row))->opckeytype;
	ReleaseSysCache(row);
	return OidIsValid(stored) && !IsPolymorphicType(stored) ? stored : type;
}

/* Finds a column's or an expression's type and collation.  Returns its text. */
static char *
find_source(const Described *index, const IndexElem *element, Oid *type, int32 *typmod,
			Oid *collation)
{
	AttrNumber	column;

	if (element->name == NULL)
	{
		*type = exprType(element->expr);
		*typmod = exprTypmod(element->expr);
		*collation = exprCollation(element->expr);
		return deparse_expression(element->expr,
								  deparse_context_for(index->table_name, index->table), false,
								  false);
	}
	column = get_attnum(index->table, element->name);
	if (column <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" does not exist", element->name)));
	get_atttypetypmodcoll(index->table, column, type, typmod, collation);
	return pstrdup(quote_identifier(element->name));
}

static void
append_key(Described *index, const IndexElem *element, const char *source, const char *type)
{
	appendStringInfo(&index->text, "%s%s %s", index->text.len > 0 ? ", " : "", source, type);
	if (element->collation != NIL)
		appendStringInfo(&index->text, " COLLATE %s", NameListToQuotedString(element->collation));
	if (element->opclass != NIL)
		appendStringInfo(&index->text, " %s", NameListToQuotedString(element->opclass));
	if (element->ordering == SORTBY_DESC)
		appendStringInfoString(&index->text, " DESC");
	if (element->nulls_ordering != SORTBY_NULLS_DEFAULT)
		appendStringInfoString(&index->text, element->nulls_ordering == SORTBY_NULLS_FIRST ?
							   " NULLS FIRST" : " NULLS LAST");
}

/* Describes column i of the index, which is a key or an included one. */
static void
describe_column(Described *index, int i, const IndexElem *element)
{
	GpuSortIndexKey *key = &index->keys[i];
	bool		descending = element->ordering == SORTBY_DESC;
	bool		nulls_first = element->nulls_ordering == SORTBY_NULLS_DEFAULT ? descending :
		element->nulls_ordering == SORTBY_NULLS_FIRST;
	Oid			opclass;
	Oid			type;
	int32		typmod;
	char	   *source = find_source(index, element, &type, &typmod, &key->collation);

	if (i < index->n_keys)
	{
		if (element->collation != NIL)
			key->collation = get_collation_oid(element->collation, false);
		append_key(index, element, source, format_type_with_typemod(type, typmod));
		opclass = ResolveOpClass(element->opclass, type, "btree", BTREE_AM_OID);
		get_opclass_opfamily_and_input_type(opclass, &key->family, &key->type);
		key->options = (descending ? INDOPTION_DESC : 0) |
			(nulls_first ? INDOPTION_NULLS_FIRST : 0);
		type = stored_type(opclass, type);
	}
	TupleDescInitEntry(index->desc, i + 1, NULL, type, typmod, 0);
}

/* Describes the index that the statement would build on the table. */
static void
describe(const IndexStmt *statement, Relation table, Described *index)
{
	List	   *columns = list_concat_copy(statement->indexParams,
										   statement->indexIncludingParams);

	if (list_length(columns) > INDEX_MAX_KEYS)
		ereport(ERROR,
				(errcode(ERRCODE_TOO_MANY_COLUMNS),
				 errmsg("cannot use more than %d columns in an index", INDEX_MAX_KEYS)));
	index->table = RelationGetRelid(table);
	index->table_name = RelationGetRelationName(table);
	index->n_keys = list_length(statement->indexParams);
	index->desc = CreateTemplateTupleDesc(list_length(columns));
	initStringInfo(&index->text);
	for (int i = 0; i < list_length(columns); i++)
		describe_column(index, i, list_nth_node(IndexElem, columns, i));
	compat_finish_tuple_desc(index->desc);
}

/* --- verdicts ------------------------------------------------------------- */

/* Returns true. */
static bool
set_native(GpuSortIndexWhy *why, const char *code, const char *reason, const char *remedy)
{
	why->runs_on = "native";
	why->code = code;
	why->reason = reason;
	why->remedy = remedy;
	return true;
}

/* Would PostgreSQL build the index?  Then sets the reason. */
static bool
is_native(Relation table, const Described *index, GpuSortIndexWhy *why)
{
	GpuSortOrder order;
	int			n_keys;
	GpuSortNativeReason reason;

	if (IsSystemRelation(table) || RelationGetRelid(table) < FirstNormalObjectId)
		return set_native(why, "system_table", "the table is a system catalog or a TOAST table",
						  "none");
	if (!gpusort_index_builds)
		return set_native(why, "index_builds", "gpusort.index_builds is off",
						  "SET gpusort.index_builds = on");
	if (max_parallel_maintenance_workers == 0)
		return set_native(why, "not_asked",
						  "max_parallel_maintenance_workers is 0, and then PostgreSQL offers no "
						  "build to extensions",
						  "SET max_parallel_maintenance_workers = 1, or more");
	reason = gpusort_index_reason_of_rows(why->rows);
	if (reason == GPUSORT_NATIVE_NONE)
		reason = gpusort_index_order_of_keys(index->keys, index->n_keys,
											 gpusort_index_row_desc(index->desc), &order, &n_keys);
	return reason != GPUSORT_NATIVE_NONE &&
		set_native(why, names_of_reasons[reason], gpusort_native_reason_text(reason),
				   remedies[reason]);
}

/* Makes the verdict on an index of a table. */
static GpuSortIndexWhy *
examine(Relation table, const Described *index)
{
	GpuSortIndexWhy *why = palloc0(sizeof(GpuSortIndexWhy));

	why->table = pstrdup(RelationGetRelationName(table));
	why->keys = index->text.data;
	why->rows = gpusort_index_expected_rows(table);
	why->bytes = why->rows * gpusort_index_expected_width(index->desc);
	if (is_native(table, index, why))
		return why;
	why->runs_on = "device";
	why->reason = psprintf("%.0f rows are expected%s", why->rows,
						   gpusort_debug_force ? "" :
						   "; if no parallel workers start, a sample of the rows decides, and "
						   "PostgreSQL builds the index where it is cheaper, as for rows in order");
	return why;
}

/* Examines the table, or its partitions that are tables.  An index on a
 * partitioned table ONLY has no rows. */
static List *
examine_tables(Relation table, const Described *index, bool with_partitions)
{
	List	   *verdicts = NIL;
	ListCell   *lc;

	if (table->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		return list_make1(examine(table, index));
	if (!with_partitions)
		return NIL;
	foreach(lc, find_all_inheritors(RelationGetRelid(table), AccessShareLock, NULL))
	{
		Relation	partition = relation_open(lfirst_oid(lc), NoLock);

		if (partition->rd_rel->relkind == RELKIND_RELATION)
			verdicts = lappend(verdicts, examine(partition, index));
		relation_close(partition, NoLock);
	}
	return verdicts;
}

List *
gpusort_index_why(IndexStmt *statement, const char *text)
{
	Relation	table = relation_openrv(statement->relation, AccessShareLock);
	char		kind = table->rd_rel->relkind;
	Described	index = {0};
	List	   *verdicts;

	if (kind != RELKIND_RELATION && kind != RELKIND_MATVIEW && kind != RELKIND_PARTITIONED_TABLE)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("cannot create index on relation \"%s\"",
						RelationGetRelationName(table))));
	if (!compat_owns_table(RelationGetRelid(table)))
		aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(kind),
					   RelationGetRelationName(table));
	if (kind == RELKIND_PARTITIONED_TABLE && statement->concurrent)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot create index on partitioned table \"%s\" concurrently",
						RelationGetRelationName(table))));
	if (strcmp(statement->accessMethod, "btree") != 0)
	{
		GpuSortIndexWhy *why = palloc0(sizeof(GpuSortIndexWhy));

		why->table = pstrdup(RelationGetRelationName(table));
		(void) set_native(why, "access_method", "it is not a btree index",
						  "none; gpusort builds btree indexes only");
		relation_close(table, NoLock);
		return list_make1(why);
	}
	statement = transformIndexStmt(RelationGetRelid(table), statement, text);
	describe(statement, table, &index);
	verdicts = examine_tables(table, &index, statement->relation->inh);
	relation_close(table, NoLock);
	return verdicts;
}
