// Lookups, ranges, boxes and counts.
#include "client/asking.h"

namespace pg_gpu::client {

static double estimate_of(const RunSet &set, RequestKind kind, uint64 items, Path path) {
    Request request = {kind, set.format->key_bits, set.count, items, 0, items, 0};
    return estimate_microseconds(request, path);
}

bool lookup(const RunSet &set, const Choice &choice, const void *keys, uint64 key_count,
            EntriesAnswer *answer) {
    const Input inputs[] = {{keys, key_bytes(set), 0}};
    const Question question = {RequestKind::Lookup, inputs, 1, sizeof(ItemPointerData),
                               estimate_of(set, RequestKind::Lookup, key_count, choice.path)};
    answer->items = key_count;
    Layout layout;
    protocol::ResultReply reply;
    const auto set_offsets = [](protocol::LookupKary *message, const Layout &at, uint64 items,
                                uint64 capacity) {
        message->keys = at.inputs[0];
        message->count = items;
        message->results = at.results;
        message->capacity = capacity;
    };
    if (ask<protocol::LookupKary>(question, set, choice, protocol::Message::lookup_kary, set_offsets,
                                  &answer->items, &layout, &reply) &&
        read_runs(set, layout, reply, answer->items, false, answer->runs))
        return true;
    return note_failed(RequestKind::Lookup, choice.path);
}

bool range(const RunSet &set, const Choice &choice, const void *low, const void *high, uint64 range_count,
           bool with_keys, EntriesAnswer *answer) {
    const Input inputs[] = {{low, key_bytes(set), 0}, {high, key_bytes(set), 0}};
    const Question question = {RequestKind::Range, inputs, 2,
                               sizeof(ItemPointerData) + (with_keys ? key_bytes(set) : 0),
                               estimate_of(set, RequestKind::Range, range_count, choice.path)};
    answer->items = range_count;
    Layout layout;
    protocol::ResultReply reply;
    const auto set_offsets = [with_keys](protocol::RangeKary *message, const Layout &at, uint64 items,
                                         uint64 capacity) {
        message->low = at.inputs[0];
        message->high = at.inputs[1];
        message->count = items;
        message->results = at.results;
        message->capacity = capacity;
        message->with_keys = with_keys ? 1 : 0;
    };
    if (ask<protocol::RangeKary>(question, set, choice, protocol::Message::range_kary, set_offsets,
                                 &answer->items, &layout, &reply) &&
        read_runs(set, layout, reply, answer->items, with_keys, answer->runs))
        return true;
    return note_failed(RequestKind::Range, choice.path);
}

bool count(const RunSet &set, const Choice &choice, const void *low, const void *high, uint64 range_count,
           const VisibleBlocks &visible, CountAnswer *answer) {
    const Input inputs[] = {{low, key_bytes(set), 0},
                            {high, key_bytes(set), 0},
                            {visible.map, 0, visible.all ? 0 : (visible.blocks + 7) / 8}};
    const Question question = {RequestKind::Count, inputs, 3, sizeof(uint64) + sizeof(ItemPointerData),
                               estimate_of(set, RequestKind::Count, range_count, choice.path)};
    answer->items = range_count;
    answer->hidden = !visible.all;
    Layout layout;
    protocol::ResultReply reply;
    const auto set_offsets = [&visible](protocol::CountKary *message, const Layout &at, uint64 items,
                                        uint64 capacity) {
        message->low = at.inputs[0];
        message->high = at.inputs[1];
        message->count = items;
        message->map = at.inputs[2];
        message->map_blocks = visible.all ? 0 : visible.blocks;
        message->all_visible = visible.all ? 1 : 0;
        message->results = at.results;
        message->capacity = capacity;
    };
    if (ask<protocol::CountKary>(question, set, choice, protocol::Message::count_kary, set_offsets,
                                 &answer->items, &layout, &reply) &&
        lies_in_buffer(layout.results, answer->items * sizeof(uint64)) &&
        (visible.all || read_runs(set, layout, reply, answer->items, false, answer->runs))) {
        answer->counts = reinterpret_cast<const uint64 *>(buffer_at(layout.results));
        return true;
    }
    return note_failed(RequestKind::Count, choice.path);
}

// ---- boxes -----------------------------------------------------------------------------------------------

namespace {

// A request's inputs, and which of them are the boxes' parts; kNowhere: left out.
struct BoxInputs {
    static constexpr int kNowhere = -1;

    Input inputs[kMaxInputs];
    int count;
    int low[kMaxPointColumns];
    int high[kMaxPointColumns];
    int open;
    int null;
};

}  // namespace

// The input's number.
static int add_input(BoxInputs *inputs, const void *data, uint64 bytes_per_item, uint64 first) {
    if (data == nullptr)
        return BoxInputs::kNowhere;
    inputs->inputs[inputs->count] = {static_cast<const char *>(data) + first * bytes_per_item, bytes_per_item,
                                     0};
    return inputs->count++;
}

static BoxInputs inputs_of(const RunSet &set, const Boxes &boxes, uint64 first) {
    const PointFormat &format = *set.format->points;
    BoxInputs inputs = {};
    for (uint32 c = 0; c < format.columns; c++) {
        inputs.low[c] = add_input(&inputs, boxes.low[c], format.key_bytes[c], first);
        inputs.high[c] = add_input(&inputs, boxes.high[c], format.key_bytes[c], first);
    }
    inputs.open = add_input(&inputs, boxes.open, 1, first);
    inputs.null = add_input(&inputs, boxes.null, 1, first);
    return inputs;
}

static protocol::BoxesPlace place_of(const RunSet &set, const BoxInputs &inputs, const Layout &layout,
                                     uint64 items) {
    const auto offset = [&layout](int input) {
        return input == BoxInputs::kNowhere ? protocol::nowhere : layout.inputs[input];
    };
    const PointFormat &format = *set.format->points;
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

bool search_boxes(const RunSet &set, const Choice &choice, const Boxes &boxes, uint64 first,
                  EntriesAnswer *answer) {
    const BoxInputs inputs = inputs_of(set, boxes, first);
    answer->items = boxes.count - first;
    const Question question = {RequestKind::SearchBoxes, inputs.inputs, inputs.count, sizeof(ItemPointerData),
                               estimate_of(set, RequestKind::SearchBoxes, answer->items, choice.path)};
    Layout layout;
    protocol::ResultReply reply;
    const auto set_offsets = [&](protocol::SearchGrid *message, const Layout &at, uint64 items,
                                 uint64 capacity) {
        message->boxes = place_of(set, inputs, at, items);
        message->results = at.results;
        message->capacity = capacity;
    };
    if (ask<protocol::SearchGrid>(question, set, choice, protocol::Message::search_grid, set_offsets,
                                  &answer->items, &layout, &reply) &&
        read_runs(set, layout, reply, answer->items, false, answer->runs))
        return true;
    return note_failed(RequestKind::SearchBoxes, choice.path);
}

bool match_points(const RunSet &set, const Choice &choice, const void *const *keys, uint64 count,
                  uint64 first, EntriesAnswer *answer) {
    const PointFormat &format = *set.format->points;
    BoxInputs inputs = {};
    for (uint32 c = 0; c < format.columns; c++)
        inputs.low[c] = add_input(&inputs, keys[c], format.key_bytes[c], first);
    answer->items = count - first;
    const Question question = {RequestKind::Match, inputs.inputs, inputs.count, sizeof(ItemPointerData),
                               estimate_of(set, RequestKind::Match, answer->items, choice.path)};
    Layout layout;
    protocol::ResultReply reply;
    const auto set_offsets = [&](protocol::MatchGrid *message, const Layout &at, uint64 items,
                                 uint64 capacity) {
        for (uint32 c = 0; c < format.columns; c++)
            message->keys[c] = at.inputs[inputs.low[c]];
        memcpy(message->key_bytes, format.key_bytes, sizeof(message->key_bytes));
        message->columns = format.columns;
        message->count = items;
        message->results = at.results;
        message->capacity = capacity;
    };
    if (ask<protocol::MatchGrid>(question, set, choice, protocol::Message::match_grid, set_offsets,
                                 &answer->items, &layout, &reply) &&
        read_runs(set, layout, reply, answer->items, false, answer->runs))
        return true;
    return note_failed(RequestKind::Match, choice.path);
}

bool count_boxes(const RunSet &set, const Choice &choice, const Boxes &boxes, uint64 first,
                 const VisibleBlocks &visible, CountAnswer *answer) {
    BoxInputs inputs = inputs_of(set, boxes, first);
    const int map = inputs.count;
    if (!visible.all)
        inputs.inputs[inputs.count++] = {visible.map, 0, (visible.blocks + 7) / 8};
    answer->items = boxes.count - first;
    const Question question = {RequestKind::CountBoxes, inputs.inputs, inputs.count,
                               sizeof(uint64) + sizeof(ItemPointerData),
                               estimate_of(set, RequestKind::CountBoxes, answer->items, choice.path)};
    answer->hidden = !visible.all;
    Layout layout;
    protocol::ResultReply reply;
    const auto set_offsets = [&](protocol::CountGrid *message, const Layout &at, uint64 items,
                                 uint64 capacity) {
        message->boxes = place_of(set, inputs, at, items);
        message->map = visible.all ? 0 : at.inputs[map];
        message->map_blocks = visible.all ? 0 : visible.blocks;
        message->all_visible = visible.all ? 1 : 0;
        message->results = at.results;
        message->capacity = capacity;
    };
    if (ask<protocol::CountGrid>(question, set, choice, protocol::Message::count_grid, set_offsets,
                                 &answer->items, &layout, &reply) &&
        lies_in_buffer(layout.results, answer->items * sizeof(uint64)) &&
        (visible.all || read_runs(set, layout, reply, answer->items, false, answer->runs))) {
        answer->counts = reinterpret_cast<const uint64 *>(buffer_at(layout.results));
        return true;
    }
    return note_failed(RequestKind::CountBoxes, choice.path);
}

}  // namespace pg_gpu::client
