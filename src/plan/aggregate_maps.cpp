#include "plan/aggregate_maps.h"

#include "column/kept_results.h"
#include "compat.h"

namespace pg_gpu::plan {

static bool has_passing_results(Oid function, void *) {
    return !column::gives_lasting_results(function);
}

// A domain's constraints may change, and how XML shows bytes is a setting.
static bool has_passing_function(Node *node, void *context) {
    return node != nullptr && (IsA(node, CoerceToDomain) || IsA(node, XmlExpr) ||
                               check_functions_in_node(node, has_passing_results, context) ||
                               walk_expression(node, has_passing_function, context));
}

bool is_map_kept(const InputSource &source, const column::AggregatePart &part) {
    if (part.reader == nullptr || part.reader->stale || source.is_joined ||
        !column::is_dictionary(part.reader->header.column[source.column]))
        return false;
    switch (source.kind) {
        case SourceKind::Truth:
        case SourceKind::Exists:
        case SourceKind::Number:
        case SourceKind::Wide:
        case SourceKind::Narrow:
            break;
        default:
            return false;
    }
    auto *expression = reinterpret_cast<Node *>(source.expression);
    return !contain_mutable_functions(expression) && !has_passing_function(expression, nullptr);
}

// Of numerics maps are the same whatever becomes of them.
static column::KeptKey key_of(const InputSource &source, const column::AggregatePart &part) {
    const SourceKind kind = source.kind == SourceKind::Narrow ? SourceKind::Wide : source.kind;
    return {part.reader, source.column, static_cast<int>(kind),
            reinterpret_cast<const Node *>(source.expression)};
}

const KeptMap *find_map(const InputSource &source, const column::AggregatePart &part) {
    return static_cast<const KeptMap *>(column::find_results(key_of(source, part)));
}

static void *copy_bytes(const void *bytes, size_t size) {
    void *copy = allocate<char>(size + 1);
    memcpy(copy, bytes, size);
    return copy;
}

void keep_map(const InputSource &source, const column::AggregatePart &part, const KeptMap &map,
              uint64 changes) {
    const size_t null_bytes = (map.places + 63) / 64 * sizeof(uint64);
    const size_t scale_bytes = map.scales == nullptr ? 0 : places_of_map(map);
    const size_t value_bytes = places_of_map(map) * map.width;
    const size_t bytes = sizeof(KeptMap) + value_bytes + null_bytes + scale_bytes;
    MemoryContext context = column::begin_results(bytes);
    if (context == nullptr)
        return;
    MemoryContext caller = MemoryContextSwitchTo(context);
    auto *copy = allocate<KeptMap>(1);
    *copy = map;
    copy->values = copy_bytes(map.values, value_bytes);
    copy->nulls = static_cast<const uint64 *>(copy_bytes(map.nulls, null_bytes));
    if (map.scales != nullptr)
        copy->scales = static_cast<const uint8 *>(copy_bytes(map.scales, scale_bytes));
    MemoryContextSwitchTo(caller);
    column::add_results(key_of(source, part), context, copy, changes);
}

}  // namespace pg_gpu::plan
