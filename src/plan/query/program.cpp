#include "plan/query/program.h"

namespace pg_gpu::plan::query {

// Twice as many as there are steps, so that few collide.
static constexpr uint32 kSlots = 2 * engine::max_steps;

template <typename Item>
static Item *make_room(Item *items, uint32 count, uint32 *room) {
    if (count < *room)
        return items;
    *room = Max(2 * *room, uint32{16});
    return items == nullptr ? allocate<Item>(*room) : reallocate(items, *room);
}

Program *begin_program() {
    auto *program = allocate_zeroed<Program>(1);
    program->context = CurrentMemoryContext;
    program->slots = allocate_zeroed<uint32>(kSlots);
    return program;
}

NodeSteps begin_node_steps(Program *program, const NodeSteps &steps) {
    const NodeSteps before = {program->steps, program->step_count, program->step_room, program->slots};
    program->steps = steps.steps;
    program->step_count = steps.count;
    program->step_room = steps.room;
    program->slots = steps.slots == nullptr ? allocate_zeroed<uint32>(kSlots) : steps.slots;
    return before;
}

uint16 add_step(Program *program, const engine::Step &step) {
    uint32 slot = hash_bytes(reinterpret_cast<const unsigned char *>(&step), sizeof(step)) % kSlots;
    for (; program->slots[slot] != 0; slot = (slot + 1) % kSlots)
        if (memcmp(&program->steps[program->slots[slot] - 1], &step, sizeof(step)) == 0)
            return static_cast<uint16>(program->slots[slot] - 1);
    if (program->step_count == engine::max_steps) {
        program->is_full = true;
        return 0;
    }
    program->steps = make_room(program->steps, program->step_count, &program->step_room);
    program->steps[program->step_count] = step;
    program->slots[slot] = ++program->step_count;
    return static_cast<uint16>(program->step_count - 1);
}

uint32 add_constant(Program *program, Int128 value) {
    const engine::Constant constant = {static_cast<uint64>(value), static_cast<uint64>(value >> 64)};
    for (uint32 i = 0; i < program->constant_count; i++)
        if (memcmp(&program->constants[i], &constant, sizeof(constant)) == 0)
            return i;
    return add_constants(program, &constant, 1);
}

uint32 add_constants(Program *program, const engine::Constant *constants, uint32 count) {
    const uint32 first = program->constant_count;
    for (uint32 i = 0; i < count; i++) {
        program->constants = make_room(program->constants, program->constant_count, &program->constant_room);
        program->constants[program->constant_count++] = constants[i];
    }
    // Steps name constants by numbers of 16 bits.
    program->is_full = program->is_full || program->constant_count > UINT16_MAX;
    return first;
}

static bool is_same(const Source &one, const Source &other) {
    return one.kind == other.kind && one.table == other.table && one.column == other.column &&
           one.type == other.type && one.result == other.result && one.scale == other.scale &&
           one.unit == other.unit && one.numbering == other.numbering && one.part == other.part &&
           equal(one.expression, other.expression);
}

uint16 add_source(Program *program, const Source &source) {
    for (uint32 i = 0; i < program->source_count; i++)
        if (is_same(program->sources[i], source))
            return static_cast<uint16>(i);
    program->sources = make_room(program->sources, program->source_count, &program->source_room);
    program->sources[program->source_count] = source;
    return static_cast<uint16>(program->source_count++);
}

// ---- steps that nobody needs ------------------------------------------------------------------------------

// Calls visit(operand) for each of a step's operands that are steps.
template <typename Visit>
static void visit_operands(engine::Step *step, Visit visit) {
    switch (step->operation) {
        case Operation::column:
        case Operation::constant:
        case Operation::null:
            break;
        case Operation::in_list:
            visit(&step->left);
            break;
        default:
            for (uint16 *operand : {&step->left, &step->right, &step->third})
                if (*operand != no_step)
                    visit(operand);
    }
    if (step->guard != no_step)
        visit(&step->guard);
}

void drop_unused_steps(Program *program, uint16 *const *kept, uint32 count) {
    auto *is_used = allocate_zeroed<bool>(size_t{program->step_count} + 1);
    auto *numbers = allocate_zeroed<uint16>(size_t{program->step_count} + 1);
    for (uint32 i = 0; i < count; i++)
        if (*kept[i] != no_step)
            is_used[*kept[i]] = true;
    for (uint32 i = program->step_count; i-- > 0;)
        if (is_used[i])
            visit_operands(&program->steps[i], [&](const uint16 *operand) { is_used[*operand] = true; });
    uint32 left = 0;
    for (uint32 i = 0; i < program->step_count; i++) {
        if (!is_used[i])
            continue;
        numbers[i] = static_cast<uint16>(left);
        visit_operands(&program->steps[i], [&](uint16 *operand) { *operand = numbers[*operand]; });
        program->steps[left++] = program->steps[i];
    }
    program->step_count = left;
    for (uint32 i = 0; i < count; i++)
        if (*kept[i] != no_step)
            *kept[i] = numbers[*kept[i]];
    pfree(is_used);
    pfree(numbers);
}

// ---- columns that nobody needs ----------------------------------------------------------------------------

// Calls visit(step) for all steps of the query.
template <typename Visit>
static void visit_steps(Program *program, const NodeSteps *nodes, uint32 count, Visit visit) {
    for (uint32 i = 0; i < program->step_count; i++)
        visit(&program->steps[i]);
    for (uint32 node = 0; node < count; node++)
        for (uint32 i = 0; i < nodes[node].count; i++)
            visit(&nodes[node].steps[i]);
}

void drop_unused_sources(Program *program, const NodeSteps *nodes, uint32 count) {
    auto *is_used = allocate_zeroed<bool>(size_t{program->source_count} + 1);
    auto *is_listed = allocate_zeroed<bool>(size_t{program->list_count} + 1);
    visit_steps(program, nodes, count, [&](const engine::Step *step) {
        if (step->operation == Operation::column)
            is_used[step->left] = true;
        if (step->operation == Operation::look_up && step->detail >= kListNumber)
            is_listed[step->detail - kListNumber] = true;
    });
    auto *numbers = allocate_zeroed<uint16>(size_t{program->source_count} + 1);
    uint32 left = 0;
    for (uint32 i = 0; i < program->source_count; i++) {
        numbers[i] = static_cast<uint16>(left);
        if (is_used[i])
            program->sources[left++] = program->sources[i];
    }
    program->source_count = left;
    visit_steps(program, nodes, count, [&](engine::Step *step) {
        if (step->operation == Operation::column)
            step->left = numbers[step->left];
    });
    left = 0;
    for (uint32 i = 0; i < program->table_count; i++)
        if (is_listed[program->tables[i].first_list])
            program->tables[left++] = program->tables[i];
    program->table_count = left;
}

}  // namespace pg_gpu::plan::query
