// Points: their mirrors, and boxes of them.
#include "grid/request.h"
#include "residency/submission.h"
#include "request_kinds.h"

namespace pg_gpu::grid {

using namespace client;

static const GridMirror &grid_of(const RunSet &set) {
    return static_cast<const GridMirror &>(*set.format);
}

// ---- mirrors ---------------------------------------------------------------------------------------------

// Pages have the number of their points, so that the format needn't say it.
static MirroredPages mirrored_pages_of(const MirrorFormat &, const storage::RunEntry &run) {
    MirroredPages pages = {};
    pages.count = run.sections[storage::kEntrySection].pages;
    return pages;
}

static bool begin_grid(const NewMirror &mirror, protocol::BeginReply *reply) {
    static_assert(kMaxGridColumns == protocol::max_columns);
    const GridMirror &grid = grid_of(*mirror.set);
    auto message = make_message<protocol::BeginGrid>(protocol::Message::begin_grid, mirror.path);
    message.columns = grid.columns;
    message.bucket = grid.bucket;
    message.distinct = grid.distinct ? 1 : 0;
    message.unsplit = grid.unsplit;
    memcpy(message.key_bytes, grid.key_bytes, sizeof(message.key_bytes));
    memcpy(message.null_bit, grid.null_bit, sizeof(message.null_bit));
    return begin_mirror(mirror, &message, reply);
}

// The server makes a grid of its own.
constinit const MirrorKind grid_mirror = {mirrored_pages_of, begin_grid, {0, 6, 0.1}, true};

// ---- cost ------------------------------------------------------------------------------------------------

// Finding a box's cells in a run, in keys looked up on the same path.
static constexpr double kKeysPerBox[kPaths] = {200, 440, 10};

// The same of a point, whose cell is one.
static constexpr double kKeysPerPoint[kPaths] = {30, 35, 4};

// Points in the cells that a box cuts through are unpacked from pages and compared; the server's cells are
// smaller, so that it has fewer of them.
static constexpr double kEntriesPerPoint[kPaths] = {1, 0.8, 0.3};

static double search_work(const Request &request, const double *keys_per_item, double entries_per_result,
                          Path path) {
    const CostConstants &costs = cost_constants();
    const int p = static_cast<int>(path);
    const uint64 results =
        path == Path::Paged ? request.results : Max(request.results, request.server_results);
    return static_cast<double>(request.items) * request.runs * costs.key[p] * keys_per_item[p] +
           static_cast<double>(results) * costs.entry[p] * entries_per_result;
}

constinit const RequestCost count_boxes_cost = {
    true,
    [](const Request &request) {
        return static_cast<double>(request.items) * (request.key_bits / 4.0 + sizeof(uint64));
    },
    [](const Request &request, Path path) {
        return search_work(request, kKeysPerBox, kEntriesPerPoint[static_cast<int>(path)], path);
    }};

constinit const RequestCost search_boxes_cost = {
    true,
    [](const Request &request) {
        return static_cast<double>(request.items) * (request.key_bits / 4.0 + request.runs * sizeof(uint64)) +
               static_cast<double>(request.results) * sizeof(ItemPointerData);
    },
    [](const Request &request, Path path) {
        return search_work(request, kKeysPerBox,
                           path == Path::Paged ? kEntriesPerPoint[static_cast<int>(path)] : 1, path);
    }};

constinit const RequestCost match_cost = {
    true,
    [](const Request &request) {
        return static_cast<double>(request.items) * (request.key_bits / 8.0 + request.runs * sizeof(uint64)) +
               static_cast<double>(request.results) * sizeof(ItemPointerData);
    },
    [](const Request &request, Path path) { return search_work(request, kKeysPerPoint, 1, path); }};

// ---- boxes -----------------------------------------------------------------------------------------------

namespace {

// A request's inputs, and which of them are the boxes' parts; kNowhere: left out.
struct BoxInputs {
    static constexpr int kNowhere = -1;

    Input inputs[kMaxInputs];
    int count;
    int low[kMaxGridColumns];
    int high[kMaxGridColumns];
    int open;
    int null;
};

}  // namespace

// Returns the input's number.
static int add_input(BoxInputs *inputs, const void *data, uint64 bytes_per_item, uint64 first) {
    if (data == nullptr)
        return BoxInputs::kNowhere;
    inputs->inputs[inputs->count] = {static_cast<const char *>(data) + first * bytes_per_item, bytes_per_item,
                                     0};
    return inputs->count++;
}

static BoxInputs inputs_of(const RunSet &set, const Boxes &boxes, uint64 first) {
    const GridMirror &format = grid_of(set);
    BoxInputs inputs = {};
    for (uint32 c = 0; c < format.columns; c++) {
        inputs.low[c] = add_input(&inputs, boxes.low[c], format.key_bytes[c], first);
        inputs.high[c] = add_input(&inputs, boxes.high[c], format.key_bytes[c], first);
    }
    inputs.open = add_input(&inputs, boxes.open, 1, first);
    inputs.null = add_input(&inputs, boxes.null, 1, first);
    return inputs;
}

static protocol::BoxesPlace encode_tid(const RunSet &set, const BoxInputs &inputs, const Layout &layout,
                                       uint64 items) {
    const auto offset = [&layout](int input) {
        return input == BoxInputs::kNowhere ? protocol::nowhere : layout.inputs[input];
    };
    const GridMirror &format = grid_of(set);
    protocol::BoxesPlace place = {};
    for (uint32 c = 0; c < format.columns; c++) {
        place.low[c] = offset(inputs.low[c]);
        place.high[c] = offset(inputs.high[c]);
    }
    place.open = offset(inputs.open);
    place.null = offset(inputs.null);
    place.count = items;
    place.columns = format.columns;
    memcpy(place.key_bytes, format.key_bytes, sizeof(place.key_bytes));
    return place;
}

bool search_grid(const RunSet &set, const Choice &choice, const Boxes &boxes, uint64 first,
                 EntriesResult *result) {
    const BoxInputs inputs = inputs_of(set, boxes, first);
    result->items = boxes.count - first;
    const PreparedRequest prepared = request_of_items(set, choice, RequestKind::SearchGrid, inputs.inputs,
                                                      inputs.count, sizeof(ItemPointerData), result->items);
    const auto set_inputs = [&](protocol::SearchGrid *message, const Layout &at, uint64 items) {
        message->boxes = encode_tid(set, inputs, at, items);
    };
    return submit_entries<protocol::SearchGrid>(prepared, set, choice, protocol::Message::search_grid,
                                                set_inputs, false, result);
}

bool match_grid(const RunSet &set, const Choice &choice, const void *const *keys, uint64 count, uint64 first,
                EntriesResult *result) {
    const GridMirror &format = grid_of(set);
    BoxInputs inputs = {};
    for (uint32 c = 0; c < format.columns; c++)
        inputs.low[c] = add_input(&inputs, keys[c], format.key_bytes[c], first);
    result->items = count - first;
    const PreparedRequest prepared = request_of_items(set, choice, RequestKind::MatchGrid, inputs.inputs,
                                                      inputs.count, sizeof(ItemPointerData), result->items);
    const auto set_inputs = [&](protocol::MatchGrid *message, const Layout &at, uint64 items) {
        for (uint32 c = 0; c < format.columns; c++)
            message->keys[c] = at.inputs[inputs.low[c]];
        memcpy(message->key_bytes, format.key_bytes, sizeof(message->key_bytes));
        message->columns = format.columns;
        message->count = items;
    };
    return submit_entries<protocol::MatchGrid>(prepared, set, choice, protocol::Message::match_grid,
                                               set_inputs, false, result);
}

bool count_grid(const RunSet &set, const Choice &choice, const Boxes &boxes, uint64 first,
                const VisibleBlocks &visible, CountResult *result) {
    BoxInputs inputs = inputs_of(set, boxes, first);
    const int blocks = inputs.count;
    const BlockInputs known = block_inputs(visible);
    inputs.inputs[inputs.count++] = known.groups;
    inputs.inputs[inputs.count++] = known.rows;
    result->items = boxes.count - first;
    const PreparedRequest prepared =
        request_of_items(set, choice, RequestKind::CountGrid, inputs.inputs, inputs.count,
                         sizeof(uint64) + sizeof(ItemPointerData), result->items);
    const auto set_inputs = [&](protocol::CountGrid *message, const Layout &at, uint64 items) {
        message->boxes = encode_tid(set, inputs, at, items);
        message->blocks = place_of_blocks(visible, at, blocks, blocks + 1);
    };
    return submit_counts<protocol::CountGrid>(prepared, set, choice, protocol::Message::count_grid,
                                              set_inputs, visible.all, result);
}

}  // namespace pg_gpu::grid
