// Requests about inverted lists. Each is one tuple: what it takes is known beforehand, so a search of many
// queries is cut before it is asked.
#include <numeric>

#include "text/request.h"
#include "residency/submission.h"
#include "test_hooks.h"
#include "request_kinds.h"

namespace pg_gpu::text {

using namespace client;

// ---- mirrors ---------------------------------------------------------------------------------------------

// All pages of documents and of postings are mirrored.
static MirroredPages mirrored_pages_of(const MirrorFormat &format, const storage::RunEntry &run) {
    MirroredPages pages = {};
    pages.further_section = static_cast<const TextMirror &>(format).posting_section;
    pages.count = run.sections[storage::kEntrySection].pages + run.sections[pages.further_section].pages;
    return pages;
}

static bool begin_text(const NewMirror &mirror, protocol::BeginReply *reply) {
    const auto &format = static_cast<const TextMirror &>(*mirror.set->format);
    gpu_engine::TextShape shape;
    if (!format.read_shape(mirror.set->index, *mirror.run, &shape))
        return fail_as_recycled();
    auto message = make_message<protocol::BeginText>(protocol::Message::begin_text, mirror.path);
    message.posting_bytes = shape.posting_bytes;
    message.documents = shape.documents;
    message.codec = static_cast<uint32>(shape.codec);
    message.content_bytes = storage::kContentBytes;
    return begin_mirror(mirror, &message, reply);
}

constinit const MirrorKind text_mirror = {mirrored_pages_of, begin_text, {0, 1, 1}, false};

// ---- cost ------------------------------------------------------------------------------------------------

// The cost model estimates a request from these, by ListFeature.
static std::array<double, kListFeatures> list_features(const Request &request) {
    std::array<double, kListFeatures> features;
    features[kRanking] = 1;
    features[kList] = static_cast<double>(request.lists);
    features[kWindows] = static_cast<double>(request.windows);
    features[kPostings] = static_cast<double>(request.entries);
    features[kShortest] = static_cast<double>(request.shortest);
    features[kSecond] = static_cast<double>(request.second);
    return features;
}

static double list_microseconds(const Request &request, Path path) {
    const auto features = list_features(request);
    return std::inner_product(features.begin(), features.end(),
                              cost_constants().lists[static_cast<int>(path)], 0.0);
}

constinit const RequestCost search_text_cost = {
    true,
    [](const Request &request) {
        return static_cast<double>(request.lists) * sizeof(gpu_engine::TextTerm) +
               static_cast<double>(request.items) * request.runs * sizeof(gpu_engine::TextQuery) +
               static_cast<double>(request.results) * sizeof(gpu_engine::TextHit);
    },
    list_microseconds, true};

constinit const RequestCost text_lists_cost = {
    true,
    [](const Request &request) {
        return static_cast<double>(request.lists) * sizeof(gpu_engine::TextList) +
               static_cast<double>(request.results) * sizeof(ItemPointerData);
    },
    list_microseconds};

// ---- searches --------------------------------------------------------------------------------------------

namespace {

// The part has `count` queries from `first` on.
struct SearchPart {
    uint64 first;
    uint64 count;
};

}  // namespace

static uint64 hits_of(const gpu_engine::TextQuery *queries, const SearchPart &part) {
    uint64 hits = 0;
    for (uint64 i = 0; i < part.count; i++)
        hits += queries[part.first + i].k;
    return hits;
}

static uint64 hit_bytes(const RunSet &set, const TextSearch &search, const SearchPart &part) {
    // The queries are the same for all runs.
    return static_cast<uint64>(set.count) *
           (align_offset(part.count * sizeof(uint32)) +
            align_offset(hits_of(search.queries, part) * sizeof(gpu_engine::TextHit)));
}

static const gpu_engine::TextQuery *queries_of(const TextSearch &search, int run, uint64 first) {
    return search.queries + static_cast<uint64>(run) * search.count + first;
}

// Returns the first term of a run's query, or behind the last one's.
static uint32 term_of(const TextSearch &search, int run, uint64 query) {
    return query < search.count ? queries_of(search, run, query)->first_term
                                : search.first_term[run + 1] - search.first_term[run];
}

static uint32 terms_of(const TextSearch &search, int run, const SearchPart &part) {
    return term_of(search, run, part.first + part.count) - term_of(search, run, part.first);
}

// Returns the first step of a query, or behind the last one's.
static uint32 step_of(const TextSearch &search, uint64 query) {
    return query < search.count ? search.queries[query].first_step : search.step_count;
}

static uint32 steps_of(const TextSearch &search, const SearchPart &part) {
    return step_of(search, part.first + part.count) - step_of(search, part.first);
}

// Returns as many queries from `first` on as fit a buffer of the largest size, halving their number.
static SearchPart cut_search(const RunSet &set, const TextSearch &search, uint64 first) {
    SearchPart part = {first, Min(search.count - first, uint64{gpu_engine::max_text_queries})};
    const auto bytes = [&] {
        uint64 terms = 0;
        for (int run = 0; run < set.count; run++)
            terms += terms_of(search, run, part);
        return align_offset(static_cast<uint64>(set.count) * part.count * sizeof(gpu_engine::TextQuery)) +
               align_offset(terms * sizeof(gpu_engine::TextTerm)) +
               align_offset(steps_of(search, part) * sizeof(gpu_engine::TextStep)) +
               hit_bytes(set, search, part);
    };
    while (part.count > 1 && bytes() > session_transfer_limit() / 2)
        part.count = (part.count + 1) / 2;
    return part;
}

namespace {

// The inputs of a part that are sent to the server: queries and terms of each run.
struct PartInputs {
    gpu_engine::TextQuery *queries;
    gpu_engine::TextTerm *terms;
    uint32 first_term[kMaxRuns + 1];
};

}  // namespace

static PartInputs *inputs_of(const RunSet &set, const TextSearch &search, const SearchPart &part) {
    auto *inputs = allocate<PartInputs>(1);
    inputs->first_term[0] = 0;
    for (int run = 0; run < set.count; run++)
        inputs->first_term[run + 1] = inputs->first_term[run] + terms_of(search, run, part);
    inputs->queries = allocate<gpu_engine::TextQuery>(static_cast<uint64>(set.count) * part.count + 1);
    inputs->terms = allocate<gpu_engine::TextTerm>(uint64{inputs->first_term[set.count]} + 1);
    for (int run = 0; run < set.count; run++) {
        gpu_engine::TextQuery *queries = inputs->queries + static_cast<uint64>(run) * part.count;
        const uint32 first = term_of(search, run, part.first);
        memcpy(queries, queries_of(search, run, part.first), part.count * sizeof(*queries));
        for (uint64 i = 0; i < part.count; i++) {
            queries[i].first_term -= first;
            queries[i].first_step -= step_of(search, part.first);
        }
        memcpy(inputs->terms + inputs->first_term[run], search.terms + search.first_term[run] + first,
               terms_of(search, run, part) * sizeof(*inputs->terms));
    }
    return inputs;
}

static bool submit_search(const RunSet &set, const Choice &choice, const TextSearch &search,
                          const SearchPart &part, Layout *layout, protocol::ResultReply *reply) {
    PartInputs *places = inputs_of(set, search, part);
    const Input inputs[] = {
        {places->queries, 0, static_cast<uint64>(set.count) * part.count * sizeof(gpu_engine::TextQuery)},
        {places->terms, 0, places->first_term[set.count] * sizeof(gpu_engine::TextTerm)},
        {search.steps + step_of(search, part.first), 0,
         steps_of(search, part) * sizeof(gpu_engine::TextStep)}};
    const PreparedRequest prepared = {RequestKind::SearchText, inputs, 3, hit_bytes(set, search, part),
                                      estimate_microseconds(search.request, choice.path)};
    const auto set_inputs = [&](protocol::SearchText *message, const Layout &at, uint64) {
        message->queries = at.inputs[0];
        message->count = part.count;
        message->terms = at.inputs[1];
        message->steps = at.inputs[2];
        message->step_count = steps_of(search, part);
        memcpy(message->first_term, places->first_term,
               (static_cast<size_t>(set.count) + 1) * sizeof(uint32));
        message->norms = search.norms;
        if (part.count == search.count)
            memcpy(message->shrink, search.shrink, static_cast<size_t>(set.count) * sizeof(double));
    };
    uint64 items = 1;
    const bool answered = submit<protocol::SearchText>(prepared, set, choice, protocol::Message::search_text,
                                                       set_inputs, &items, layout, reply);
    pfree(places->queries);
    pfree(places->terms);
    pfree(places);
    return answered;
}

static bool read_hits(const RunSet &set, const TextSearch &search, const SearchPart &part,
                      const protocol::ResultReply &reply, TextHits *hits) {
    const uint64 room = hits_of(search.queries, part);
    for (int run = 0; run < set.count; run++) {
        if (!lies_in_buffer(reply.offsets_at[run], part.count * sizeof(uint32)) ||
            !lies_in_buffer(reply.tids_at[run], room * sizeof(gpu_engine::TextHit)))
            return fail(RequestFailure::Refused, "results lie outside of the transfer buffer");
        hits->counts[run] =
            static_cast<const uint32 *>(copy_of_results(reply.offsets_at[run], part.count * sizeof(uint32)));
        hits->hits[run] = reinterpret_cast<const gpu_engine::TextHit *>(buffer_at(reply.tids_at[run]));
        for (uint64 i = 0; i < part.count; i++)
            if (hits->counts[run][i] > search.queries[part.first + i].k)
                return fail(RequestFailure::Refused, "a query has more hits than were asked for");
    }
    hits->queries = part.count;
    hold(HoldPoint::Result);
    return true;
}

bool search_text(const RunSet &set, const Choice &choice, const TextSearch &search, uint64 first,
                 TextHits *hits) {
    SearchPart part = cut_search(set, search, first);
    Layout layout;
    protocol::ResultReply reply;
    while (!submit_search(set, choice, search, part, &layout, &reply)) {
        // Others may have taken what there is: fewer queries need less.
        if (!is_connected() || last_failure() != RequestFailure::Memory || part.count == 1)
            return note_failed(RequestKind::SearchText, choice);
        part.count = (part.count + 1) / 2;
    }
    return read_hits(set, search, part, reply, hits) || note_failed(RequestKind::SearchText, choice);
}

// ---- requests about lists --------------------------------------------------------------------------------

template <typename Message>
static bool submit_lists(RequestKind kind, protocol::Message type, const RunSet &set, const Choice &choice,
                         const TextLists &lists, uint64 result_bytes, Layout *layout,
                         protocol::ResultReply *reply) {
    const uint32 count = lists.first[set.count];
    const Input inputs[] = {{lists.lists, 0, count * sizeof(gpu_engine::TextList)}};
    const PreparedRequest prepared = {kind, inputs, 1, result_bytes,
                                      estimate_microseconds(lists.request, choice.path)};
    const auto set_inputs = [&](Message *message, const Layout &at, uint64) {
        message->lists.lists = at.inputs[0];
        memcpy(message->lists.first, lists.first, (static_cast<size_t>(set.count) + 1) * sizeof(uint32));
    };
    uint64 items = 1;
    return submit<Message>(prepared, set, choice, type, set_inputs, &items, layout, reply);
}

bool count_text(const RunSet &set, const Choice &choice, const TextLists &lists, const uint32 **documents) {
    const uint64 bytes = lists.first[set.count] * sizeof(uint32);
    Layout layout;
    protocol::ResultReply reply;
    if (!submit_lists<protocol::CountText>(RequestKind::CountText, protocol::Message::count_text, set, choice,
                                           lists, bytes, &layout, &reply) ||
        !(lies_in_buffer(reply.offsets_at[0], bytes) ||
          fail(RequestFailure::Refused, "results lie outside of the transfer buffer")))
        return note_failed(RequestKind::CountText, choice);
    *documents = static_cast<const uint32 *>(copy_of_results(reply.offsets_at[0], bytes));
    hold(HoldPoint::Result);
    return true;
}

bool intersect_text(const RunSet &set, const Choice &choice, const TextLists &lists, EntriesResult *result) {
    Layout layout;
    protocol::ResultReply reply;
    result->items = 1;
    if (submit_lists<protocol::IntersectText>(
            RequestKind::IntersectText, protocol::Message::intersect_text, set, choice, lists,
            lists.request.results * sizeof(ItemPointerData), &layout, &reply) &&
        read_runs(set, layout, reply, result->items, false, result->runs))
        return true;
    return note_failed(RequestKind::IntersectText, choice);
}

}  // namespace pg_gpu::text
