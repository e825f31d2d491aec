// Differences between PostgreSQL 15, 16, 17 and 18, and nothing else. The rest of src/ is written once.
#pragma once

#include "postgres_headers.h"

#if PG_VERSION_NUM < 150000 || PG_VERSION_NUM >= 190000
#error "pg_gpu supports PostgreSQL 15 to 18"
#endif

// 18 has the module's name and version told, for pg_get_loaded_modules().
#if PG_VERSION_NUM >= 180000
#define PG_GPU_MODULE_MAGIC PG_MODULE_MAGIC_EXT(.name = "pg_gpu", .version = PG_GPU_VERSION)
#else
#define PG_GPU_MODULE_MAGIC PG_MODULE_MAGIC
#endif

// Parameters of ExecutorRun's hooks.
#if PG_VERSION_NUM >= 180000
#define PG_GPU_EXECUTOR_RUN_PARAMETERS QueryDesc *query, ScanDirection direction, uint64 count
#define PG_GPU_EXECUTOR_RUN_ARGUMENTS query, direction, count
#else
#define PG_GPU_EXECUTOR_RUN_PARAMETERS \
    QueryDesc *query, ScanDirection direction, uint64 count, bool execute_once
#define PG_GPU_EXECUTOR_RUN_ARGUMENTS query, direction, count, execute_once
#endif

// From 17 on, parallel mode allows subtransactions that change nothing. Before, the session has to leave it
// for their time, which it may while no workers run: nothing depends on the mode then.
#if PG_VERSION_NUM >= 170000
#define PG_GPU_LEAVES_PARALLEL_MODE false
#else
#define PG_GPU_LEAVES_PARALLEL_MODE true
#endif

// What follows the arguments of functions that from 16 on can report an error instead of raising it.
#if PG_VERSION_NUM >= 160000
#define PG_GPU_RAISE_ERRORS , nullptr
#else
#define PG_GPU_RAISE_ERRORS
#endif

namespace pg_gpu {

#if PG_VERSION_NUM >= 160000
using PhysicalRelation = RelFileLocator;
inline PhysicalRelation physical_relation(Relation relation) {
    return relation->rd_locator;
}
#else
using PhysicalRelation = RelFileNode;
inline PhysicalRelation physical_relation(Relation relation) {
    return relation->rd_node;
}
#endif

// The place of an index's file.
struct PhysicalPlace {
    Oid tablespace;
    Oid database;
    uint32 relation;
};
inline PhysicalPlace physical_place(Relation relation) {
    const PhysicalRelation physical = physical_relation(relation);
#if PG_VERSION_NUM >= 160000
    return {physical.spcOid, physical.dbOid, physical.relNumber};
#else
    return {physical.spcNode, physical.dbNode, physical.relNode};
#endif
}

// The relation whose file this is in this database; InvalidOid when there is none. Not for temporary
// relations.
inline Oid relation_at(const PhysicalPlace &place) {
    const Oid tablespace = place.tablespace == MyDatabaseTableSpace ? InvalidOid : place.tablespace;
#if PG_VERSION_NUM >= 160000
    return RelidByRelfilenumber(tablespace, place.relation);
#else
    return RelidByRelfilenode(tablespace, place.relation);
#endif
}

// Infinite intervals came with 17.
inline bool is_infinite_interval([[maybe_unused]] const Interval &interval) {
#if PG_VERSION_NUM >= 170000
    return INTERVAL_NOT_FINITE(&interval);
#else
    return false;
#endif
}

// Raises "snapshot too old" before 17; the feature left PostgreSQL with that version.
inline void check_old_snapshot([[maybe_unused]] Snapshot snapshot, [[maybe_unused]] Relation relation,
                               [[maybe_unused]] Page page) {
#if PG_VERSION_NUM < 170000
    TestForOldSnapshot(snapshot, relation, page);
#endif
}

// May rows go that a snapshot still sees (old_snapshot_threshold)?
inline bool do_snapshots_expire() {
#if PG_VERSION_NUM < 170000
    return OldSnapshotThresholdActive();
#else
    return false;
#endif
}

inline void vacuum_pause() {
#if PG_VERSION_NUM >= 180000
    vacuum_delay_point(false);
#else
    vacuum_delay_point();
#endif
}

// Returns the btree strategy of a comparison operator, kNotEqualStrategy for <>, or 0 for any other operator.
inline constexpr int kNotEqualStrategy = 6;
inline int find_comparison(Oid operator_oid) {
#if PG_VERSION_NUM >= 180000
    static_assert(COMPARE_NE == kNotEqualStrategy && COMPARE_EQ == BTEqualStrategyNumber);
    const List *found = get_op_index_interpretation(operator_oid);
    return found == NIL ? 0 : static_cast<const OpIndexInterpretation *>(linitial(found))->cmptype;
#else
    static_assert(ROWCOMPARE_NE == kNotEqualStrategy);
    const List *found = get_op_btree_interpretation(operator_oid);
    return found == NIL ? 0 : static_cast<const OpBtreeInterpretation *>(linitial(found))->strategy;
#endif
}

// PostgreSQL 15 declares what walks over and what copies expressions without their parameters.
#if PG_VERSION_NUM >= 160000
inline bool walk_raw_expression(Node *node, bool (*walker)(Node *, void *), void *context) {
    return raw_expression_tree_walker(node, walker, context);
}
inline Node *mutate_expression(Node *node, Node *(*mutator)(Node *, void *), void *context) {
    return expression_tree_mutator(node, mutator, context);
}
inline bool walk_expression(Node *node, bool (*walker)(Node *, void *), void *context) {
    return expression_tree_walker(node, walker, context);
}
inline bool walk_query(Query *query, bool (*walker)(Node *, void *), void *context, int flags) {
    return query_tree_walker(query, walker, context, flags);
}
inline Query *mutate_query(Query *query, Node *(*mutator)(Node *, void *), void *context, int flags) {
    return query_tree_mutator(query, mutator, context, flags);
}
inline bool walk_plan_states(PlanState *state, bool (*walker)(PlanState *, void *), void *context) {
    return planstate_tree_walker(state, walker, context);
}
#else
inline bool walk_plan_states(PlanState *state, bool (*walker)(PlanState *, void *), void *context) {
    return planstate_tree_walker(state, reinterpret_cast<bool (*)()>(reinterpret_cast<void (*)()>(walker)),
                                 context);
}
inline bool walk_raw_expression(Node *node, bool (*walker)(Node *, void *), void *context) {
    return raw_expression_tree_walker(
        node, reinterpret_cast<bool (*)()>(reinterpret_cast<void (*)()>(walker)), context);
}
inline Node *mutate_expression(Node *node, Node *(*mutator)(Node *, void *), void *context) {
    return expression_tree_mutator(node, reinterpret_cast<Node *(*)()>(reinterpret_cast<void (*)()>(mutator)),
                                   context);
}
inline Query *mutate_query(Query *query, Node *(*mutator)(Node *, void *), void *context, int flags) {
    return query_tree_mutator(query, reinterpret_cast<Node *(*)()>(reinterpret_cast<void (*)()>(mutator)),
                              context, flags);
}
inline bool walk_expression(Node *node, bool (*walker)(Node *, void *), void *context) {
    return expression_tree_walker(node, reinterpret_cast<bool (*)()>(reinterpret_cast<void (*)()>(walker)),
                                  context);
}
inline bool walk_query(Query *query, bool (*walker)(Node *, void *), void *context, int flags) {
    return query_tree_walker(query, reinterpret_cast<bool (*)()>(reinterpret_cast<void (*)()>(walker)),
                             context, flags);
}
#endif

// The grouping clauses that a query has left; from 16 on the planner drops those that can't matter. Where it
// drops all of them one stays, because without any there would be a group even of no rows.
inline List *grouping_clauses(PlannerInfo *root) {
#if PG_VERSION_NUM >= 160000
    if (root->processed_groupClause == NIL && root->parse->groupClause != NIL)
        return list_make1(linitial(root->parse->groupClause));
    return root->processed_groupClause;
#else
    return root->parse->groupClause;
#endif
}

// Those that it has dropped. Before 16 it drops columns alone, those that depend on others, and forgets them.
inline List *dropped_grouping_clauses([[maybe_unused]] PlannerInfo *root) {
#if PG_VERSION_NUM >= 160000
    return list_difference(root->parse->groupClause, grouping_clauses(root));
#else
    return NIL;
#endif
}

// Returns an expression over groups in the form it has over the rows below them. From 18 on, grouping columns
// of a query with grouping sets are marked as nullable above the groups, because a set may leave them out,
// and so aren't equal to the scan's columns.
inline Node *below_grouping([[maybe_unused]] PlannerInfo *root, Node *expression) {
#if PG_VERSION_NUM >= 180000
    if (root->group_rtindex > 0 && root->parse->groupingSets != NIL)
        return remove_nulling_relids(expression, bms_make_singleton(root->group_rtindex), nullptr);
#endif
    return expression;
}
inline List *below_grouping(PlannerInfo *root, List *expressions) {
    return reinterpret_cast<List *>(below_grouping(root, reinterpret_cast<Node *>(expressions)));
}

// Finds the btree family and operand type that an operator orders by, and which way. Returns false when it is
// no ordering operator.
inline bool find_ordering(Oid operator_oid, Oid *family, Oid *operand, bool *descends) {
#if PG_VERSION_NUM >= 180000
    CompareType comparison;
    const bool found = get_ordering_op_properties(operator_oid, family, operand, &comparison);
    *descends = comparison == COMPARE_GT;
#else
    int16 strategy;
    const bool found = get_ordering_op_properties(operator_oid, family, operand, &strategy);
    *descends = strategy == BTGreaterStrategyNumber;
#endif
    return found;
}

inline AclResult function_execute_privilege(Oid function, Oid user) {
#if PG_VERSION_NUM >= 160000
    return object_aclcheck(ProcedureRelationId, function, user, ACL_EXECUTE);
#else
    return pg_proc_aclcheck(function, user, ACL_EXECUTE);
#endif
}

// Returns the parts of a name that a user wrote, or raises an error.
inline List *read_qualified_name(const char *name) {
#if PG_VERSION_NUM >= 160000
    return stringToQualifiedNameList(name, nullptr);
#else
    return stringToQualifiedNameList(name);
#endif
}

// Does the session with this number, that of its temporary relations, work in the database?
inline bool is_backend_in(int32 backend, Oid database) {
#if PG_VERSION_NUM >= 170000
    const PGPROC *process = ProcNumberGetProc(backend);
#else
    const PGPROC *process = BackendIdGetProc(backend);
#endif
    return process != nullptr && process->databaseId == database;
}

// Returns the number of the backend whose temporary relations a namespace is for.
inline int32 backend_of_namespace(Oid space) {
#if PG_VERSION_NUM >= 170000
    return GetTempNamespaceProcNumber(space);
#else
    return GetTempNamespaceBackendId(space);
#endif
}

// May this user maintain (merge, load, evict) the index's table without owning it?
inline bool has_maintain_privilege([[maybe_unused]] Oid table_oid, [[maybe_unused]] Oid user) {
#if PG_VERSION_NUM >= 170000
    return pg_class_aclcheck(table_oid, user, ACL_MAINTAIN) == ACLCHECK_OK;
#else
    return false;
#endif
}

// Is the column computed when it is read? From 18 on there are such.
inline bool is_virtual_column([[maybe_unused]] const FormData_pg_attribute *attribute) {
#if PG_VERSION_NUM >= 180000
    return attribute->attgenerated == ATTRIBUTE_GENERATED_VIRTUAL;
#else
    return false;
#endif
}

inline bool owns_relation(Oid relation_oid, Oid user) {
#if PG_VERSION_NUM >= 160000
    return object_ownercheck(RelationRelationId, relation_oid, user);
#else
    return pg_class_ownercheck(relation_oid, user);
#endif
}

inline bool owns_database(Oid database_oid, Oid user) {
#if PG_VERSION_NUM >= 160000
    return object_ownercheck(DatabaseRelationId, database_oid, user);
#else
    return pg_database_ownercheck(database_oid, user);
#endif
}

// May this user maintain whatever others own: a superuser, and from 17 on a member of pg_maintain?
inline bool may_maintain_everything(Oid user) {
#if PG_VERSION_NUM >= 170000
    return superuser_arg(user) || has_privs_of_role(user, ROLE_PG_MAINTAIN);
#else
    return superuser_arg(user);
#endif
}

// Registers the delta of one buffer; the argument types differ between versions.
inline void register_buffer_data(uint8 block_id, const void *data, uint32 length) {
#if PG_VERSION_NUM >= 180000
    XLogRegisterBufData(block_id, data, length);
#elif PG_VERSION_NUM >= 160000
    XLogRegisterBufData(block_id, static_cast<char *>(const_cast<void *>(data)), length);
#else
    XLogRegisterBufData(block_id, static_cast<char *>(const_cast<void *>(data)), static_cast<int>(length));
#endif
}

// A page that goes straight to a file, past shared buffers: from 16 on aligned, as direct I/O wants it.
#if PG_VERSION_NUM >= 160000
using FilePage = PGIOAlignedBlock;
#else
using FilePage = PGAlignedBlock;
#endif

// Allocates memory for such pages, which isn't cleared.
inline char *allocate_file_pages(int pages) {
    const Size bytes = static_cast<Size>(pages) * BLCKSZ;
#if PG_VERSION_NUM >= 160000
    return static_cast<char *>(palloc_aligned(bytes, PG_IO_ALIGN_SIZE, 0));
#else
    return static_cast<char *>(palloc(bytes));
#endif
}

inline void extend_fork(SMgrRelation smgr, ForkNumber fork, BlockNumber block, char *page) {
    smgrextend(smgr, fork, block, page, true);
}

// Writes `count` empty pages at the end of a file.
inline void extend_with_zeros(SMgrRelation smgr, BlockNumber first, int count) {
#if PG_VERSION_NUM >= 160000
    smgrzeroextend(smgr, MAIN_FORKNUM, first, count, false);
#else
    PGAlignedBlock zeros = {};
    for (int i = 0; i < count; i++)
        smgrextend(smgr, MAIN_FORKNUM, first + static_cast<BlockNumber>(i), zeros.data, false);
#endif
}

inline void log_full_pages(Relation relation, ForkNumber fork, int count, BlockNumber *blocks, Page *pages) {
    PhysicalRelation physical = physical_relation(relation);
    log_newpages(&physical, fork, count, blocks, pages, true);
}

inline void log_full_page(Relation relation, ForkNumber fork, BlockNumber block, Page page) {
    PhysicalRelation physical = physical_relation(relation);
    log_newpage(&physical, fork, block, page, true);
}

// Up to these minor releases a bitmap heap scan that needs no column trusted the visibility map alone for
// TIDs that ask for no recheck, though their rows may be gone since the index was read. The server that runs
// counts, not the one compiled for.
inline bool bitmap_scan_skips_heap() {
    const int version = atoi(GetConfigOption("server_version_num", false, false));
    return version < 150013 || (version >= 160000 && version < 160009) ||
           (version >= 170000 && version < 170005);
}

// Makes a set of events that outlives the transaction.
inline WaitEventSet *create_persistent_wait_set(int events) {
#if PG_VERSION_NUM >= 170000
    return CreateWaitEventSet(nullptr, events);
#else
    return CreateWaitEventSet(TopMemoryContext, events);
#endif
}

// Returns the wait event that pg_stat_activity shows by this name; before 17 it shows "Extension".
inline uint32 named_wait_event([[maybe_unused]] const char *name) {
#if PG_VERSION_NUM >= 170000
    return WaitEventExtensionNew(name);
#else
    return PG_WAIT_EXTENSION;
#endif
}

// Returns btree's number of a comparison of rows.
inline StrategyNumber row_comparison_strategy(const RowCompareExpr *comparison) {
#if PG_VERSION_NUM >= 180000
    return static_cast<StrategyNumber>(comparison->cmptype);
#else
    return static_cast<StrategyNumber>(comparison->rctype);
#endif
}

// Does the collation compare strings byte by byte?
inline bool is_c_collation(Oid collation) {
#if PG_VERSION_NUM >= 180000
    return pg_newlocale_from_collation(collation)->collate_is_c;
#else
    return lc_collate_is_c(collation);
#endif
}

// Returns an option for build_reloptions; 18 has one field more.
constexpr relopt_parse_elt parsed_option(const char *name, relopt_type type, size_t offset) {
    relopt_parse_elt option = {};
    option.optname = name;
    option.opttype = type;
    option.offset = static_cast<int>(offset);
    return option;
}

// Returns the number of tables in a plan that EXPLAIN shows. From 18 on grouping has an entry beside theirs.
inline int explained_tables(const ExplainState *explain) {
#if PG_VERSION_NUM >= 180000
    return explain->rtable_size;
#else
    return list_length(explain->rtable);
#endif
}

// Is called once for each search of an index: pg_stat_all_indexes counts it, and from 18 on EXPLAIN shows it
// as "Index Searches".
inline void count_index_search(IndexScanDesc scan) {
    pgstat_count_index_scan(scan->indexRelation);
#if PG_VERSION_NUM >= 180000
    if (scan->instrument != nullptr)
        scan->instrument->nsearches++;
#endif
}

// Counts, for EXPLAIN, a search that a plan node above the index scan made in its place.
inline void count_search_of_node([[maybe_unused]] PlanState *node) {
#if PG_VERSION_NUM >= 180000
    if (IsA(node, IndexOnlyScanState))
        reinterpret_cast<IndexOnlyScanState *>(node)->ioss_Instrument.nsearches++;
    else if (IsA(node, IndexScanState))
        reinterpret_cast<IndexScanState *>(node)->iss_Instrument.nsearches++;
#endif
}

// Calls `show` for each plan node that EXPLAIN shows, behind what PostgreSQL and libraries loaded before show
// of it; before 18 nobody asks. To be called once.
inline void show_with_plan_nodes([[maybe_unused]] void (*show)(PlanState *, ExplainState *)) {
#if PG_VERSION_NUM >= 180000
    static explain_per_node_hook_type previous_hook;
    static void (*show_node)(PlanState *, ExplainState *);
    previous_hook = explain_per_node_hook;
    show_node = show;
    explain_per_node_hook = [](PlanState *node, List *ancestors, const char *relationship,
                               const char *plan_name, ExplainState *explain) {
        if (previous_hook != nullptr)
            previous_hook(node, ancestors, relationship, plan_name, explain);
        show_node(node, explain);
    };
#endif
}

#if PG_VERSION_NUM >= 180000
// Is it a family of gpu_kary's whose strategies are btree's? Those of hashes and of first bytes have no `<`.
inline bool is_ordered_family(Oid family) {
    CatCList *members = SearchSysCacheList1(AMOPSTRATEGY, ObjectIdGetDatum(family));
    bool found = false;
    for (int i = 0; i < members->n_members && !found; i++)
        found = reinterpret_cast<Form_pg_amop>(GETSTRUCT(&members->members[i]->tuple))->amopstrategy ==
                BTLessStrategyNumber;
    ReleaseSysCacheList(members);
    return found;
}
#endif

// Sets what an access method is whose strategies 1 to 5 order, as btree's do: 18 asks which they are, where
// versions before it take btree's numbers for granted.
inline void set_ordered([[maybe_unused]] IndexAmRoutine *routine) {
    routine->amcanorder = true;
#if PG_VERSION_NUM >= 180000
    routine->amtranslatestrategy = [](StrategyNumber strategy, Oid family) {
        return strategy >= BTLessStrategyNumber && strategy <= BTGreaterStrategyNumber &&
                       is_ordered_family(family)
                   ? static_cast<CompareType>(strategy)
                   : COMPARE_INVALID;
    };
    routine->amtranslatecmptype = [](CompareType comparison, Oid family) {
        return comparison >= COMPARE_LT && comparison <= COMPARE_GT && is_ordered_family(family)
                   ? static_cast<StrategyNumber>(comparison)
                   : StrategyNumber{InvalidStrategy};
    };
#endif
}

// Returns the number of workers that a build gets; before 17 PostgreSQL grants them to btree's builds only,
// so it is asked here.
inline int build_workers([[maybe_unused]] Relation heap, [[maybe_unused]] Relation index,
                         [[maybe_unused]] const IndexInfo *index_info) {
#if PG_VERSION_NUM >= 170000
    return index_info->ii_ParallelWorkers;
#else
    // index_build asks for workers only under normal processing, and so does this.
    return IsNormalProcessingMode()
               ? plan_create_index_workers(RelationGetRelid(heap), RelationGetRelid(index))
               : 0;
#endif
}

// Returns how many of a path's nodes are disabled (enable_seqscan and its like). Before 18 none is counted: a
// disabled node costs so much more that its path is hardly ever the cheapest.
inline int disabled_nodes([[maybe_unused]] const Path *path) {
#if PG_VERSION_NUM >= 180000
    return path->disabled_nodes;
#else
    return 0;
#endif
}

// A path has the disabled nodes of those that it is made of.
inline void add_disabled_nodes([[maybe_unused]] Path *path, [[maybe_unused]] const Path *child) {
#if PG_VERSION_NUM >= 180000
    path->disabled_nodes += child->disabled_nodes;
#endif
}

// Returns the planner's guess of an array's length.
inline double array_length_of([[maybe_unused]] PlannerInfo *root, Node *array) {
#if PG_VERSION_NUM >= 170000
    return estimate_array_length(root, array);
#else
    return estimate_array_length(array);
#endif
}

// Fields of IndexAmRoutine that only newer versions have.
inline void set_version_dependent_fields([[maybe_unused]] IndexAmRoutine *routine) {
#if PG_VERSION_NUM >= 170000
    routine->amcanbuildparallel = true;
    routine->aminsertcleanup = nullptr;
#endif
#if PG_VERSION_NUM >= 180000
    routine->amcanhash = false;
    // Families of one class for many types hold equalities that differ: those of text and char(n), for one.
    routine->amconsistentequality = false;
    routine->amconsistentordering = false;
    routine->amgettreeheight = nullptr;
#endif
}

// May VACUUM cut off a free end, as the table's options have it? (That of one VACUUM is not told to indexes.)
inline bool lets_vacuum_truncate(Relation table) {
    const auto *options = reinterpret_cast<const StdRdOptions *>(table->rd_options);
#if PG_VERSION_NUM >= 180000
    return options != nullptr && options->vacuum_truncate_set ? options->vacuum_truncate : vacuum_truncate;
#else
    return options == nullptr || options->vacuum_truncate;
#endif
}

// Calls visit(block, offsets, count, recheck) for each block of a bitmap, in order. count is -1 where all
// rows of the block may be in it; with `recheck` they need a look at the row.
template <typename Visit>
void for_each_bitmap_block(TIDBitmap *bitmap, Visit visit) {
#if PG_VERSION_NUM >= 180000
    TBMPrivateIterator *iterator = tbm_begin_private_iterate(bitmap);
    TBMIterateResult block;
    OffsetNumber offsets[MaxHeapTuplesPerPage];
    while (tbm_private_iterate(iterator, &block))
        visit(block.blockno, offsets,
              block.lossy ? -1 : tbm_extract_page_tuple(&block, offsets, MaxHeapTuplesPerPage),
              block.recheck);
    tbm_end_private_iterate(iterator);
#else
    TBMIterator *iterator = tbm_begin_iterate(bitmap);
    while (const TBMIterateResult *block = tbm_iterate(iterator))
        visit(block->blockno, block->offsets, block->ntuples, block->recheck);
    tbm_end_iterate(iterator);
#endif
}

// Begins the scan that a plan node hasn't begun yet, as that node would.
inline IndexScanDesc begin_scan_of_node(IndexScanState *node) {
    return index_beginscan(node->ss.ss_currentRelation, node->iss_RelationDesc,
                           node->ss.ps.state->es_snapshot,
#if PG_VERSION_NUM >= 180000
                           &node->iss_Instrument,
#endif
                           node->iss_NumScanKeys, node->iss_NumOrderByKeys);
}

// From PostgreSQL 16 on a column says which outer joins may make it NULL.
inline void mark_nulled(Var *column, Index join) {
#if PG_VERSION_NUM >= 160000
    column->varnullingrels = bms_add_member(column->varnullingrels, static_cast<int>(join));
#else
    static_cast<void>(column);
    static_cast<void>(join);
#endif
}

// Returns the numbers of the tables below a part of a join tree.
inline Relids tables_of_join_tree(Node *part) {
#if PG_VERSION_NUM >= 160000
    return get_relids_in_jointree(part, false, false);
#else
    return get_relids_in_jointree(part, false);
#endif
}

// Returns where a query's grouped expressions are, from 18 on; nullptr for other entries.
inline List **grouped_expressions([[maybe_unused]] RangeTblEntry *entry) {
#if PG_VERSION_NUM >= 180000
    if (entry->rtekind == RTE_GROUP)
        return &entry->groupexprs;
#endif
    return nullptr;
}

// Returns the expression that a column of a query's groups stands for, from 18 on; nullptr for other columns.
inline Node *grouped_expression([[maybe_unused]] const RangeTblEntry *entry, [[maybe_unused]] int column) {
#if PG_VERSION_NUM >= 180000
    if (entry->rtekind == RTE_GROUP)
        return static_cast<Node *>(list_nth(entry->groupexprs, column - 1));
#endif
    return nullptr;
}

// Does a query refer to what it groups by as to columns of an entry of its own, as from 18 on?
inline bool has_group_entry([[maybe_unused]] const Query *query) {
#if PG_VERSION_NUM >= 180000
    return query->hasGroupRTE;
#else
    return false;
#endif
}

// Takes that entry away, which is the last one, and to which nothing refers.
inline void forget_group_entry([[maybe_unused]] Query *query) {
#if PG_VERSION_NUM >= 180000
    if (query->hasGroupRTE)
        query->rtable = list_truncate(query->rtable, list_length(query->rtable) - 1);
    query->hasGroupRTE = false;
#endif
}

// Takes away all entries of a query.
inline void forget_tables(Query *query) {
    query->rtable = NIL;
#if PG_VERSION_NUM >= 160000
    query->rteperminfos = NIL;
#endif
#if PG_VERSION_NUM >= 180000
    query->hasGroupRTE = false;
#endif
}

// From PostgreSQL 18 on what an executor has pruned mustn't be opened.
inline bool is_relation_pruned(const EState &estate, Index relation) {
#if PG_VERSION_NUM >= 180000
    return !bms_is_member(static_cast<int>(relation), estate.es_unpruned_relids);
#else
    static_cast<void>(estate);
    static_cast<void>(relation);
    return false;
#endif
}

// From PostgreSQL 18 on EXPLAIN shows a window function by the name of its WindowAgg, and fails elsewhere.
inline constexpr bool kWindowsHaveNames = PG_VERSION_NUM >= 180000;

// What a window's rows are tested for while it runs.
inline List *run_conditions(const WindowAggPath &path) {
#if PG_VERSION_NUM >= 170000
    return path.runCondition;
#else
    return path.winclause->runCondition;
#endif
}

// Has an entry of a query no privileges that are checked.
inline void forget_privileges([[maybe_unused]] Query *query, RangeTblEntry *entry) {
#if PG_VERSION_NUM >= 160000
    entry->perminfoindex = 0;
    addRTEPermissionInfo(&query->rteperminfos, entry)->requiredPerms = 0;
#else
    entry->requiredPerms = 0;
#endif
}

}  // namespace pg_gpu
