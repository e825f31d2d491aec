#include "storage/merge_choice.h"

#include <algorithm>
#include <cmath>

namespace pg_gpu::storage {

// Runs of the lowest levels merge in fours: every reader visits each run, while to merge them, in shared
// buffers still, costs the writer little.
static constexpr uint16 kSmallLevels = 5;
static constexpr int kSmallFanout = 4;

// Tails that one statement fills, one after the other, merge sixteen at a time: the next sixteen come within
// milliseconds, and two merges of each entry become one. The next seal that isn't part of such a stream, and
// VACUUM, merge what it leaves in fours.
static constexpr int kStreamFanout = 16;

// Runs are merged, or one is rewritten, when VACUUM or a worker comes by and this share of their pages, or of
// its entries, is of no use.
static constexpr double kWastedShare = 0.25;

// A file is loose when it reaches so many times as far as what is used takes. A merge of all runs needs room
// for both, and leaves a file that reaches twice as far: that is no reason to write a large run again. A
// small one takes VACUUM little. And nothing is moved, nor are runs merged, for a few pages.
static constexpr double kLooseFile = 2.25;
static constexpr double kLooseForSmall = 1.5;
static constexpr uint64 kSmallWeight = 2000000;
static constexpr uint32 kFewPages = 8;

int tier_size(uint16 level, int fanout, bool is_stream) {
    if (level == 0 && is_stream)
        return Min(2 * fanout, kStreamFanout);
    return level < kSmallLevels ? Min(fanout, kSmallFanout) : fanout;
}

// Returns the weight of an entry in the size of a level: entries of varying size are documents, with dozens
// of postings each.
static uint64 entry_weight(const RunKind *kind) {
    return kind->tail_tuple_bytes == 0 ? 64 : 1;
}

uint16 level_of(const RunKind *kind, uint64 entries, int fanout) {
    // Level 0 holds what one tail holds, each next one what a tier of runs of the level below does.
    double limit = static_cast<double>(kind->tail_capacity) /
                   static_cast<double>(sizeof(TailTuple) * entry_weight(kind));
    uint16 level = 0;
    while (static_cast<double>(entries) > limit && level < kMaxLevels) {
        limit *= tier_size(level, fanout, false);
        level++;
    }
    return level;
}

static uint64 living_entries_of(const RunEntry &run) {
    return run.entries - run.dead;
}

// A dead entry is read and left out.
static uint64 weight_of(const RunKind *kind, const RunEntry &run) {
    return living_entries_of(run) * kind->merge_weight + run.dead;
}

// Returns the pages that its living entries take now: about what they will take when they are merged.
static uint32 living_pages_of(const RunEntry &run) {
    const double living = static_cast<double>(living_entries_of(run)) / static_cast<double>(run.entries);
    return static_cast<uint32>(ceil(living * static_cast<double>(run.pages)));
}

// Returns the run's pages but for those that sections may leave almost empty, since each begins a page.
static uint32 pages_but_for_sections(const RunEntry &run) {
    return Max(run.pages - Min(run.pages, uint32{kSectionsPerRun}), (run.pages + 1) / 2);
}

Density density_of(const RunEntry *runs, int count) {
    Density density = {0, 0};
    for (int i = 0; i < count; i++)
        if (runs[i].entries > density.entries)
            density = {pages_but_for_sections(runs[i]), runs[i].entries};
    return density;
}

uint32 merged_pages(const Density &density, const RunEntry *runs, int count) {
    uint64 pages = 0;
    uint64 entries = 0;
    uint32 largest = 0;
    for (int i = 0; i < count; i++) {
        pages += living_pages_of(runs[i]);
        entries += living_entries_of(runs[i]);
        largest = Max(largest, living_pages_of(runs[i]));
    }
    const double dense = static_cast<double>(density.pages) * static_cast<double>(entries) /
                             static_cast<double>(Max(density.entries, uint64{1})) +
                         kSectionsPerRun;
    // However dense another run is, what one run of them needs, for a dictionary of its own, they all do.
    const double expected = Max(dense, static_cast<double>(largest));
    return static_cast<uint32>(
        Min(Min(expected, static_cast<double>(pages)), static_cast<double>(kMaxBlocks)));
}

uint64 half_of_living_pages(const RunEntry *runs, int count) {
    uint64 pages = 0;
    for (int i = 0; i < count; i++)
        pages += living_pages_of(runs[i]);
    return pages / 2;
}

int leave_out_set_aside(RunEntry *runs, int count) {
    return static_cast<int>(
        std::partition(runs, runs + count, [](const RunEntry &run) { return run.level != kSetAsideLevel; }) -
        runs);
}

// Chooses the first of the runs, as many as are within the limits.
static Choice within(RunEntry *runs, int count, const RunKind *kind, const MergeLimits &limits) {
    Choice choice = {runs, 0, 0, 0};
    for (; choice.count < count; choice.count++) {
        const RunEntry &next = runs[choice.count];
        const uint64 weight = choice.weight + weight_of(kind, next);
        const uint64 pages = choice.pages + living_pages_of(next);
        if (weight > limits.weight || pages > limits.pages)
            break;
        choice.weight = weight;
        choice.pages = pages;
    }
    return choice;
}

Choice choose_tier(RunEntry *runs, int count, const ChoiceRule &rule, bool *beyond) {
    const MergeLimits left = {rule.left.weight, Min(rule.left.pages, rule.max_together)};
    for (uint16 level = 0; level <= kMaxLevels; level++) {
        const int size = tier_size(level, rule.fanout, rule.is_stream);
        const auto members = static_cast<int>(
            std::partition(runs, runs + count, [level](const RunEntry &run) { return run.level == level; }) -
            runs);
        if (members < size)
            continue;
        // A tier that could not be merged for long is more than an insert may merge, and would grow for
        // ever if no worker came: so the smallest are merged.
        std::sort(runs, runs + members,
                  [](const RunEntry &a, const RunEntry &b) { return a.entries < b.entries; });
        const int most = rule.halvings == 0 ? members : Max(members >> Min(rule.halvings, 30), 2);
        const int least = rule.takes_pairs || rule.halvings > 0 ? 2 : size;
        const Choice choice = within(runs, most, rule.kind, left);
        if (choice.count >= least) {
            *beyond = *beyond || choice.count < members;
            return choice;
        }
        // A merge for which only those before it leave no time is done the next time.
        *beyond = *beyond || within(runs, members, rule.kind, rule.once).count < least;
    }
    return {};
}

static bool is_mostly_dead(const RunEntry &run) {
    return static_cast<double>(run.dead) > kWastedShare * static_cast<double>(run.entries);
}

Choice choose_wasteful(RunEntry *runs, int count, const ChoiceRule &rule, bool *beyond) {
    std::sort(runs, runs + count, [](const RunEntry &a, const RunEntry &b) {
        return living_entries_of(a) < living_entries_of(b);
    });
    RunEntry *dead = std::find_if(runs, runs + count, is_mostly_dead);
    const Density density = density_of(runs, count);
    int together = 0;
    uint32 left = 0;
    uint64 pages = 0;
    for (int i = 0; i < count && together == 0; i++) {
        pages += runs[i].pages;
        left = merged_pages(density, runs, i + 1);
        if (i > 0 && left <= rule.max_together && left + kFewPages < pages &&
            static_cast<double>(left) < (1 - kWastedShare) * static_cast<double>(pages))
            together = i + 1;
    }
    if (dead < runs + count && (together == 0 || living_pages_of(*dead) < left)) {
        std::iter_swap(runs, dead);
        together = 1;
    }
    const Choice choice = within(runs, together, rule.kind, rule.left);
    *beyond = *beyond || choice.count < together;
    return choice.count == together ? choice : Choice{};
}

static BlockNumber end_of(const RunEntry &run) {
    return end_of_extents(run.extents, run.extent_count);
}

Choice choose_last(RunEntry *runs, int count, const ChoiceRule &rule, Extent *used, int used_count,
                   bool *beyond) {
    if (count == 0)
        return {};
    uint64 pages = 0;
    for (int i = 0; i < used_count; i++)
        pages += used[i].count;
    const BlockNumber end = end_of_extents(used, used_count);
    std::iter_swap(runs, std::max_element(runs, runs + count, [](const RunEntry &a, const RunEntry &b) {
                       return end_of(a) < end_of(b);
                   }));
    const double loose = weight_of(rule.kind, runs[0]) <= kSmallWeight ? kLooseForSmall : kLooseFile;
    if (end < pages + kFewPages || static_cast<double>(end) < loose * static_cast<double>(pages))
        return {};
    // A recent run may lie behind all that may be touched.
    if (end_of(runs[0]) != end)
        return {};
    Extent chosen[kExtentsPerRun];
    const int pieces = choose_extents(used, used_count, kFirstFreeBlock, living_pages_of(runs[0]),
                                      kExtentsPerRun - 1, chosen);
    if (pieces == 0 || end_of_extents(chosen, pieces) >= end)
        return {};
    const Choice choice = within(runs, 1, rule.kind, rule.left);
    *beyond = *beyond || choice.count == 0;
    return choice.count > 0 ? choice : Choice{};
}

}  // namespace pg_gpu::storage
