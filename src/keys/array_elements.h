// Visits the elements of an array where they lie, without copying them.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::keys {

struct ElementLayout {
    const char *data;
    int16 length;
    bool by_value;
    char alignment;
};

inline ElementLayout layout_of(ArrayType *array) {
    ElementLayout layout;
    layout.data = ARR_DATA_PTR(array);
    get_typlenbyvalalign(ARR_ELEMTYPE(array), &layout.length, &layout.by_value, &layout.alignment);
    return layout;
}

// Returns the element at a place that for_each_element has told.
inline Datum element_at(const ElementLayout &layout, uint32 place) {
    return fetch_att(layout.data + place, layout.by_value, layout.length);
}

// Calls visit(datum, place) for each element that is not NULL: NULLs match nothing, and take no room. The
// place is in bytes from the array's data; an array has at most 1 GB.
template <typename Visit>
inline void for_each_element(ArrayType *array, Visit visit) {
    const ElementLayout layout = layout_of(array);
    const int items = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
    const bits8 *bitmap = ARR_NULLBITMAP(array);
    const bool is_fixed = layout.length > 0;
    const auto step =
        is_fixed ? static_cast<uint32>(att_align_nominal(layout.length, layout.alignment)) : uint32{0};
    uint32 place = 0;
    for (int i = 0; i < items; i++) {
        CHECK_FOR_INTERRUPTS();
        if (bitmap != nullptr && !((bitmap[i / 8] >> (i % 8)) & 1))
            continue;
        visit(element_at(layout, place), place);
        if (likely(is_fixed)) {
            place += step;
        } else {
            place = static_cast<uint32>(att_addlength_pointer(place, layout.length, layout.data + place));
            place = static_cast<uint32>(att_align_nominal(place, layout.alignment));
        }
    }
}

// Calls visit(int64) for each element of an array of integers that is not NULL.
template <typename Visit>
inline void for_each_integer(ArrayType *array, Oid type, Visit visit) {
    constexpr int kItemsACheck = 4096;
    const auto visit_all = [&]<typename Integer>(const Integer *values) {
        if (ARR_HASNULL(array)) {
            for_each_element(array, [&](Datum value, uint32) { visit(int64{static_cast<Integer>(value)}); });
            return;
        }
        // A step has no more to do than these few instructions.
        const int items = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
        for (int i = 0; i < items; i++) {
            if (i % kItemsACheck == 0)
                CHECK_FOR_INTERRUPTS();
            visit(int64{values[i]});
        }
    };
    const char *data = ARR_DATA_PTR(array);
    if (type == INT2OID)
        visit_all(reinterpret_cast<const int16 *>(data));
    else if (type == INT4OID)
        visit_all(reinterpret_cast<const int32 *>(data));
    else
        visit_all(reinterpret_cast<const int64 *>(data));
}

}  // namespace pg_gpu::keys
