#include "text/match.h"

#include <algorithm>

#include "text/position_match.h"

namespace pg_gpu::text {

static OrdinalSet empty_set() {
    return {nullptr, 0, false, true};
}

static OrdinalSet whole_list(ListCursor *list) {
    OrdinalSet set = empty_set();
    if (list == nullptr)
        return set;
    set.ordinals = allocate<uint32>(list->documents);
    for (uint32 block = 0; load_block(list, block); block++) {
        CHECK_FOR_INTERRUPTS();
        memcpy(set.ordinals + set.count, list->ordinals, list->count * sizeof(uint32));
        set.count += list->count;
    }
    return set;
}

// Keeps of the set, which lists its members, what the list holds too.
static void keep_listed(OrdinalSet *set, ListCursor *list) {
    uint32 kept = 0;
    // Against a list not much longer, steps are shorter than a binary search.
    const bool dense = list->documents / 16 < set->count;
    if (set->count > 0)
        load_block(list, find_block(list, 0, set->ordinals[0]));
    for (uint32 i = 0; i < set->count && !at_end(list); i++) {
        const uint32 ordinal = set->ordinals[i];
        if (list->heads[list->block].last < ordinal) {
            CHECK_FOR_INTERRUPTS();
            if (!load_block(list, find_block(list, list->block + 1, ordinal)))
                break;
        }
        if (dense)
            while (list->ordinals[list->at] < ordinal)
                list->at++;
        else
            seek_ordinal(list, ordinal);
        if (list->ordinals[list->at] == ordinal)
            set->ordinals[kept++] = ordinal;
    }
    set->count = kept;
}

enum class Combination { Both, Either, FirstOnly };

static OrdinalSet combine(const OrdinalSet &a, const OrdinalSet &b, Combination how) {
    OrdinalSet result = {allocate<uint32>(uint64{a.count} + b.count + 1), 0, false, a.exact && b.exact};
    const uint32 *end;
    switch (how) {
        case Combination::Both:
            end = std::set_intersection(a.ordinals, a.ordinals + a.count, b.ordinals, b.ordinals + b.count,
                                        result.ordinals);
            break;
        case Combination::Either:
            end = std::set_union(a.ordinals, a.ordinals + a.count, b.ordinals, b.ordinals + b.count,
                                 result.ordinals);
            break;
        default:
            end = std::set_difference(a.ordinals, a.ordinals + a.count, b.ordinals, b.ordinals + b.count,
                                      result.ordinals);
    }
    result.count = static_cast<uint32>(end - result.ordinals);
    return result;
}

OrdinalSet intersect_sets(const OrdinalSet &a, const OrdinalSet &b) {
    if (!a.complement && !b.complement)
        return combine(a, b, Combination::Both);
    if (a.complement && !b.complement)
        return combine(b, a, Combination::FirstOnly);
    if (!a.complement)
        return combine(a, b, Combination::FirstOnly);
    OrdinalSet result = combine(a, b, Combination::Either);
    result.complement = true;
    return result;
}

static OrdinalSet complement_of(OrdinalSet set) {
    if (!set.exact)
        return {nullptr, 0, true, false};
    set.complement = !set.complement;
    return set;
}

static OrdinalSet unite_sets(const OrdinalSet &a, const OrdinalSet &b) {
    // De Morgan's law is applied to the members themselves.
    OrdinalSet not_a = a;
    OrdinalSet not_b = b;
    not_a.complement = !a.complement;
    not_b.complement = !b.complement;
    OrdinalSet result = intersect_sets(not_a, not_b);
    result.complement = !result.complement;
    return result;
}

// ---- by lexemes alone -------------------------------------------------------------------------------------

static OrdinalSet match_node(const QueryNode *node, ListCursor **lists, bool in_phrase);

static bool is_listed(const QueryNode *node, ListCursor **lists) {
    return node->kind == QueryNode::Kind::Term && lists[node->term] != nullptr;
}

// Matches the shortest list first, then the others, then what is not a list.
static OrdinalSet match_all(const QueryNode *node, ListCursor **lists, bool in_phrase) {
    auto **children = allocate<QueryNode *>(node->child_count);
    memcpy(children, node->children, node->child_count * sizeof(QueryNode *));
    std::stable_sort(children, children + node->child_count, [lists](QueryNode *a, QueryNode *b) {
        const bool a_listed = is_listed(a, lists);
        const bool b_listed = is_listed(b, lists);
        if (a_listed && b_listed)
            return lists[a->term]->documents < lists[b->term]->documents;
        // Children whose lexeme has no list come first, since nothing has to be looked for then.
        const auto rank = [](QueryNode *child, bool listed) {
            return listed ? 1 : child->kind == QueryNode::Kind::Term ? 0 : 2;
        };
        return rank(a, a_listed) < rank(b, b_listed);
    });
    OrdinalSet result = match_node(children[0], lists, in_phrase);
    for (int i = 1; i < node->child_count; i++) {
        const QueryNode *child = children[i];
        if (result.count == 0 && !result.complement)
            break;
        if (is_listed(child, lists) && !result.complement) {
            keep_listed(&result, lists[child->term]);
            result.exact = result.exact && !child->weighted;
        } else {
            result = intersect_sets(result, match_node(child, lists, in_phrase));
        }
    }
    pfree(children);
    return result;
}

static OrdinalSet match_node(const QueryNode *node, ListCursor **lists, bool in_phrase) {
    check_stack_depth();
    OrdinalSet result;
    switch (node->kind) {
        case QueryNode::Kind::Term:
            result = whole_list(lists[node->term]);
            result.exact = !node->weighted || result.count == 0;
            return result;
        case QueryNode::Kind::Not:
            // In a phrase, `!a` is about a position and not about the document.
            if (in_phrase)
                return {nullptr, 0, true, false};
            return complement_of(match_node(node->children[0], lists, false));
        case QueryNode::Kind::And:
            return match_all(node, lists, in_phrase);
        case QueryNode::Kind::Phrase:
            result = match_all(node, lists, true);
            result.exact = result.count == 0 && !result.complement;
            return result;
        default:
            result = match_node(node->children[0], lists, in_phrase);
            for (int i = 1; i < node->child_count; i++)
                result = unite_sets(result, match_node(node->children[i], lists, in_phrase));
            return result;
    }
}

// ---- by positions -----------------------------------------------------------------------------------------

namespace {

struct Matching {
    RunReader *reader;
    const Query *query;
    ListCursor **lists;
};

}  // namespace

// Keeps those of the set, which lists its members, that match the node by their positions.
static OrdinalSet keep_matching(const Matching &matching, const QueryNode *node, OrdinalSet set) {
    auto *decided = allocate<Match>(set.count + 1);
    decide_documents(matching.reader, *matching.query, node, set.ordinals, set.count, decided);
    uint32 kept = 0;
    set.exact = true;
    for (uint32 i = 0; i < set.count; i++) {
        if (decided[i] == Match::No)
            continue;
        set.exact = set.exact && decided[i] == Match::Yes;
        set.ordinals[kept++] = set.ordinals[i];
    }
    set.count = kept;
    pfree(decided);
    return set;
}

// All documents that have a lexeme of the node's.
static OrdinalSet having_any(const QueryNode *node, ListCursor **lists) {
    if (node->kind == QueryNode::Kind::Term)
        return whole_list(lists[node->term]);
    OrdinalSet set = empty_set();
    for (int i = 0; i < node->child_count; i++)
        set = unite_sets(set, having_any(node->children[i], lists));
    return set;
}

// A phrase that can match without any lexeme, by NOTs: those that have one are decided one by one, and the
// others are all alike.
static OrdinalSet match_loose_phrase(const Matching &matching, const QueryNode *node) {
    const OrdinalSet all = having_any(node, matching.lists);
    OrdinalSet copy = all;
    copy.ordinals = allocate<uint32>(all.count + 1);
    std::copy_n(all.ordinals, all.count, copy.ordinals);
    OrdinalSet matched = keep_matching(matching, node, copy);
    if (!matches_without_lexemes(*matching.query, node))
        return matched;
    OrdinalSet failed = combine(all, matched, Combination::FirstOnly);
    failed.complement = true;
    failed.exact = matched.exact;
    return failed;
}

static OrdinalSet match_by_positions(const Matching &matching, const QueryNode *node) {
    check_stack_depth();
    OrdinalSet set;
    switch (node->kind) {
        case QueryNode::Kind::Not:
            return complement_of(match_by_positions(matching, node->children[0]));
        case QueryNode::Kind::Or:
            set = match_by_positions(matching, node->children[0]);
            for (int i = 1; i < node->child_count; i++)
                set = unite_sets(set, match_by_positions(matching, node->children[i]));
            return set;
        case QueryNode::Kind::And:
            // Operands that need no positions leave fewer documents to look at.
            set = match_node(node, matching.lists, false);
            if (set.exact)
                return set;
            if (!set.complement)
                return keep_matching(matching, node, set);
            set = match_by_positions(matching, node->children[0]);
            for (int i = 1; i < node->child_count; i++)
                set = intersect_sets(set, match_by_positions(matching, node->children[i]));
            return set;
        default:
            set = match_node(node, matching.lists, false);
            if (set.exact)
                return set;
            return set.complement ? match_loose_phrase(matching, node) : keep_matching(matching, node, set);
    }
}

OrdinalSet match_run(RunReader *reader, const Query &query, ListCursor **lists) {
    if (query.root == nullptr)
        return empty_set();
    if (reader->has_positions && needs_positions(query.root))
        return match_by_positions({reader, &query, lists}, query.root);
    return match_node(query.root, lists, false);
}

}  // namespace pg_gpu::text
