#include "plan/query/map_names.h"

#include "compat.h"
#include "plan/query/numbering.h"

namespace pg_gpu::plan::query {

// Smaller maps are sent in no time.
static constexpr uint64 kFewestPlaces = 4096;

// Would the expression's results be the same in any session, at any time?
static bool is_constant(const Source &source) {
    auto *expression = reinterpret_cast<Node *>(source.expression);
    return source.numbering == no_numbering && !contain_mutable_functions(expression) &&
           !has_users_function(expression, nullptr);
}

engine::MapName name_map(const Source &source, uint64 places) {
    const bool is_result = source.kind == SourceKind::Result;
    if (places < kFewestPlaces || (is_result && !is_constant(source)))
        return {};
    StringInfoData text;
    initStringInfo(&text);
    appendStringInfo(&text, "%d %d %d %d %d %u ", static_cast<int>(source.kind), source.column,
                     static_cast<int>(source.type), source.scale, static_cast<int>(source.result),
                     source.result_type);
    if (is_result)
        appendStringInfoString(&text, nodeToString(source.expression));
    engine::MapName name;
    for (uint64 i = 0; i < lengthof(name.words); i++)
        name.words[i] = hash_bytes_extended(reinterpret_cast<const unsigned char *>(text.data), text.len, i);
    pfree(text.data);
    return name;
}

}  // namespace pg_gpu::plan::query
