#include "plan/query/aggregate_numeric_inputs.h"

#include "column/format/scaled_numeric.h"
#include "compat.h"
#include "plan/query/aggregate_cached_maps.h"
#include "plan/query/aggregate_numeric.h"

namespace pg_gpu::plan {

using column::AggregatePart;
using gpu_engine::AggregateInput;
using gpu_engine::AggregateInputKind;

// ---- numerics without a dictionary ------------------------------------------------------------------------

// Are the part's numerics integers by themselves?
static bool is_scaled_part(const InputSource &source, const AggregatePart &part) {
    return part.reader != nullptr && !source.is_joined && IsA(source.expression, Var) &&
           column::is_scaled(part.reader->header.column[source.column]) &&
           column::list_of(part, source.column) == nullptr;
}

// The least and the greatest of them stand for all.
static constexpr uint64 kEnds = 2;

static bool read_scaled_ends(InputBuilder *builder, const AggregatePart &part, AggregateInput *input,
                             uint64 **words, uint8 **scales) {
    const column::ColumnHeader &header = part.reader->header.column[input->column];
    *words = static_cast<uint64 *>(take_memory(builder, 2 * kEnds * sizeof(uint64)));
    *scales = static_cast<uint8 *>(take_memory(builder, kEnds));
    if (*words == nullptr || *scales == nullptr)
        return false;
    const uint64 ends[kEnds] = {header.base, header.highest};
    for (uint64 i = 0; i < kEnds; i++) {
        const Int128 number = column::number_of_scaled(ends[i]);
        (*words)[2 * i] = static_cast<uint64>(number);
        (*words)[2 * i + 1] = static_cast<uint64>(number >> 64);
        (*scales)[i] = header.scale;
    }
    input->kind = AggregateInputKind::code;
    input->column_null_is_null = true;
    return true;
}

// Rows have the numbers less this one. False: others have more digits behind the point.
static bool offset_scaled(InputBuilder *builder, uint32 number, const AggregatePart &part,
                          const WideMap &ends, Int128 centre, AggregateInput *input) {
    if (part.reader->header.column[input->column].scale != builder->scale[number]) {
        builder->problem = "a column's numerics show more digits in some runs than in others";
        return false;
    }
    for (uint64 i = 0; i < kEnds; i++)
        note_number(builder, number,
                    static_cast<int64>(wide_of_words(ends.words[2 * i], ends.words[2 * i + 1]) - centre));
    input->offset = static_cast<uint64>(wide_of_words(ends.words[0], ends.words[1]) - centre);
    return true;
}

// ---- numerics by code -------------------------------------------------------------------------------------

// The numbers less this one, which have 64 bits, take the places of the wide ones.
static bool narrow_input(InputBuilder *builder, const WideNumbers &wide, Int128 centre, uint32 number) {
    for (int part = 0; part < builder->parts->count; part++) {
        AggregateInput *input = &builder->inputs[part][number];
        if (input->kind == AggregateInputKind::code) {
            if (!offset_scaled(builder, number, builder->parts->part[part], wide.maps[part], centre, input))
                return false;
            continue;
        }
        input->kind = AggregateInputKind::map64;
        auto *numbers = static_cast<int64 *>(const_cast<void *>(input->values));
        const WideMap &map = wide.maps[part];
        for (uint64 code = 0; code < map.count; code++) {
            const Int128 scaled = wide_of_words(map.words[2 * code], map.words[2 * code + 1]);
            const bool is_number = map.scales[code] != kNoScale;
            numbers[code] = is_number ? static_cast<int64>(scaled - centre) : 0;
            if (is_number)
                note_number(builder, number, numbers[code]);
        }
        input->of_column_null = input->column_null_is_null ? 0 : numbers[input->places];
    }
    return true;
}

// Numbers whose squares are added up are less by one in the middle of them. False: they are too far apart.
static bool centre_input(InputBuilder *builder, const WideNumbers &wide, uint32 number) {
    Int128 centre;
    if (!centre_wide(wide, &centre)) {
        builder->problem = "numbers whose variance is asked for are too far apart";
        return false;
    }
    builder->centre[2 * number] = static_cast<uint64>(centre);
    builder->centre[2 * number + 1] = static_cast<uint64>(centre >> 64);
    return narrow_input(builder, wide, centre, number);
}

// The numerics of a part as they are, each with its scale.
static bool read_wide_part(InputBuilder *builder, uint32 number, const AggregatePart &part,
                           AggregateInput *input, uint8 **scales) {
    const InputSource &source = builder->compiled->input[number];
    const MapPlace place = place_of_map(builder, number, part);
    if (copy_cached(builder, number, part, place, input, scales))
        return true;
    if (builder->problem != nullptr ||
        !make_map(builder, part, source.is_joined, AggregateInputKind::map128, 2 * sizeof(uint64), input))
        return false;
    auto *words = static_cast<uint64 *>(const_cast<void *>(input->values));
    auto *made = static_cast<uint8 *>(take_memory(builder, input->places + 1));
    if (made == nullptr)
        return false;
    memset(made, kNoScale, input->places + 1);
    *scales = made;
    input->column_null_is_null = true;
    uint64 evaluated = 0;
    bool has_null = false;
    bool has_odd = false;
    const auto read = [&](Datum result, uint64 code) {
        if (read_wide(DatumGetNumeric(result), &words[2 * code], &made[code]))
            return;
        made[code] = kOddScale;
        has_odd = true;
    };
    if (!evaluate_codes(
            builder, source, part, *input,
            [&](uint64 code, Datum result, bool is_null) {
                evaluated++;
                if (is_null)
                    set_null(input, code);
                else
                    read(result, code);
            },
            repeat_nothing,
            [&](Datum result, bool is_null) {
                has_null = true;
                input->column_null_is_null = is_null;
                if (!is_null)
                    read(result, input->places);
            }))
        return false;
    if (has_odd || !place.is_cached || !is_whole(source, part, evaluated, has_null))
        return true;
    CachedMap map = map_of(*input, 2 * sizeof(uint64), {PG_INT64_MAX, PG_INT64_MIN});
    map.scales = made;
    keep_map(place.key, map, builder->changes);
    return true;
}

// Do all numerics of the parts show as many digits behind the point?
static int16 find_shown_scale(const WideNumbers &wide) {
    uint8 least = kNoScale;
    uint8 greatest = 0;
    for (int i = 0; i < wide.count; i++) {
        for (uint64 code = 0; code < wide.maps[i].count; code++) {
            const uint8 scale = wide.maps[i].scales[code];
            least = Min(least, scale);
            greatest = Max(greatest, scale == kNoScale ? uint8{0} : scale);
        }
    }
    return least == kNoScale ? int16{0} : least == greatest ? int16{least} : kScaleOfGroup;
}

// Numbers of rows that aren't selected needn't be ones that can be added up: none is left of them.
static bool forget_unseen(InputBuilder *builder, uint32 number) {
    const InputSource &source = builder->compiled->input[number];
    for (int i = 0; i < builder->parts->count; i++) {
        const AggregatePart &part = builder->parts->part[i];
        uint8 *scales = builder->scales[number][i];
        if (is_scaled_part(source, part))
            continue;
        bool any_null = false;
        const uint8 *marks = mark_selected(builder, source, part, &any_null);
        if (builder->problem != nullptr)
            return false;
        const uint64 places = builder->inputs[i][number].places;
        for (uint64 code = 0; code <= places; code++) {
            if (code < places ? marks[code] == 0 : !any_null)
                scales[code] = kNoScale;
            else if (scales[code] == kOddScale)
                builder->problem = "a numeric isn't finite, or has too many digits";
        }
    }
    return builder->problem == nullptr;
}

// Numbers of 128 bits can't stand for NULL.
static bool check_wide_nulls(InputBuilder *builder, uint32 number) {
    for (int part = 0; part < builder->parts->count; part++) {
        if (!builder->inputs[part][number].column_null_is_null)
            builder->problem = "a numeric expression has a value for NULL, and others have too many digits";
        if (builder->inputs[part][number].kind == AggregateInputKind::code)
            builder->problem = "a column's numerics have too many digits in some runs";
    }
    return builder->problem == nullptr;
}

bool make_wide_input(InputBuilder *builder, uint32 number) {
    const InputSource &source = builder->compiled->input[number];
    WideNumbers wide = {};
    uint64 rows = 0;
    builder->scales[number] = allocate<uint8 *>(static_cast<size_t>(builder->parts->count) + 1);
    for (int part = 0; part < builder->parts->count; part++) {
        rows += builder->parts->part[part].rows;
        AggregateInput *input = &builder->inputs[part][number];
        uint8 *scales;
        if (is_scaled_part(source, builder->parts->part[part])) {
            uint64 *words;
            if (!read_scaled_ends(builder, builder->parts->part[part], input, &words, &scales))
                return false;
            builder->scales[number][part] = scales;
            add_wide_map(&wide, words, scales, kEnds);
            continue;
        }
        if (!read_wide_part(builder, number, builder->parts->part[part], input, &scales))
            return false;
        builder->scales[number][part] = scales;
        add_wide_map(&wide, static_cast<uint64 *>(const_cast<void *>(input->values)), scales,
                     input->places + 1);
    }
    if (!is_plain(wide) && !forget_unseen(builder, number))
        return false;
    builder->shown[number] = find_shown_scale(wide);
    builder->has_variants[number] = builder->shown[number] == kScaleOfGroup;
    if (!scale_wide(&wide, rows, &builder->scale[number])) {
        builder->problem = "sums of numerics may have too many digits";
        return false;
    }
    if (source.kind == SourceKind::Narrow)
        return centre_input(builder, wide, number);
    builder->is_wide[number] = !fits_narrow(wide);
    if (builder->is_wide[number])
        return check_wide_nulls(builder, number);
    return narrow_input(builder, wide, 0, number);
}

}  // namespace pg_gpu::plan
