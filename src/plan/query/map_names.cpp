#include "plan/query/map_names.h"

#include "column/scan/cached_results.h"
#include "compat.h"
#include "plan/query/numbering.h"

namespace pg_gpu::plan::query {

// Smaller maps are sent in no time.
static constexpr uint64 kFewestPlaces = 4096;

// What a type of the users' own has may change, and so may what text is searched for. Nobody would tell the
// server process.
static bool has_changing_type(Node *node, void *context) {
    if (node == nullptr)
        return false;
    const Oid type = IsA(node, List) ? InvalidOid : exprType(node);
    return type >= FirstUnpinnedObjectId || type == REGCONFIGOID || type == REGDICTIONARYOID ||
           walk_expression(node, has_changing_type, context);
}

static bool has_passing_results(Oid function, void *) {
    return !column::gives_cacheable_results(function);
}

// A domain's constraints may change, and how XML shows bytes is a setting.
static bool has_passing_function(Node *node, void *context) {
    return node != nullptr && (IsA(node, CoerceToDomain) || IsA(node, XmlExpr) ||
                               check_functions_in_node(node, has_passing_results, context) ||
                               walk_expression(node, has_passing_function, context));
}

// Does an expression give the same in every statement, under the settings of cached_results.h? That is so for
// immutable functions of PostgreSQL's own.
static bool gives_cacheable_results(const Node *expression) {
    auto *node = const_cast<Node *>(expression);
    return !contain_mutable_functions(node) && !has_passing_function(node, nullptr);
}

bool is_constant(const Expr *expression) {
    auto *node = reinterpret_cast<Node *>(const_cast<Expr *>(expression));
    return gives_cacheable_results(node) && !has_changing_type(node, nullptr);
}

// Appends an expression, wherever a statement's text has it.
static void append_expression(StringInfo text, const Expr *expression) {
    constexpr const char *place = " :location ";
    const char *rest = nodeToString(expression);
    for (const char *found = strstr(rest, place); found != nullptr; found = strstr(rest, place)) {
        appendBinaryStringInfo(text, rest, static_cast<int>(found - rest));
        rest = found + strlen(place);
        rest += strspn(rest, "-0123456789");
    }
    appendStringInfoString(text, rest);
}

engine::MapName name_map(const Source &source, uint64 places) {
    const bool is_result = source.kind == SourceKind::Result;
    if (places < kFewestPlaces ||
        (is_result && (source.numbering != no_numbering || !is_constant(source.expression))))
        return {};
    StringInfoData text;
    initStringInfo(&text);
    appendStringInfo(&text, "%d %d %d %d %d %d %u %d ", static_cast<int>(source.kind), source.column,
                     static_cast<int>(source.type), source.scale, source.unit,
                     static_cast<int>(source.result), source.result_type, static_cast<int>(source.part));
    if (is_result) {
        append_expression(&text, source.expression);
        column::describe_settings(&text);
    }
    engine::MapName name;
    for (uint64 i = 0; i < lengthof(name.words); i++)
        name.words[i] = hash_bytes_extended(reinterpret_cast<const unsigned char *>(text.data), text.len, i);
    pfree(text.data);
    return name;
}

}  // namespace pg_gpu::plan::query
