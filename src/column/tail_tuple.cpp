#include "column/tail_tuple.h"

#include "varint.h"

namespace pg_gpu::column {

static uint32 null_bytes(const Format &format) {
    return static_cast<uint32>(format.columns + 7) / 8;
}

// Writes an integer's lowest `width` bytes, the lowest first: with a width known to the compiler it is one
// move.
template <uint32 width>
static uint8 *write_bytes(uint8 *out, uint64 code) {
    for (uint32 byte = 0; byte < width; byte++)
        out[byte] = static_cast<uint8>(code >> (8 * byte));
    return out + width;
}

template <uint32 width>
static uint64 read_bytes(const uint8 *at) {
    uint64 code = 0;
    for (uint32 byte = 0; byte < width; byte++)
        code |= uint64{at[byte]} << (8 * byte);
    return code;
}

// Types that are passed by value have one of these widths.
static uint8 *write_integer(uint8 *out, uint64 code, uint32 width) {
    switch (width) {
        case 1:
            return write_bytes<1>(out, code);
        case 2:
            return write_bytes<2>(out, code);
        case 4:
            return write_bytes<4>(out, code);
        default:
            return write_bytes<8>(out, code);
    }
}

static uint64 read_integer(const uint8 *at, uint32 width) {
    switch (width) {
        case 1:
            return read_bytes<1>(at);
        case 2:
            return read_bytes<2>(at);
        case 4:
            return read_bytes<4>(at);
        default:
            return read_bytes<8>(at);
    }
}

storage::TailTuple *make_tail_tuple(const Format &format, const Datum *values, const bool *nulls,
                                    const ItemPointerData &tid) {
    Bytes strings[kMaxColumns];
    size_t size = sizeof(storage::TailTuple) + null_bytes(format);
    for (int i = 0; i < format.columns; i++) {
        if (nulls[i])
            continue;
        if (format.types[i].is_integer) {
            size += format.types[i].width;
            continue;
        }
        strings[i] = bytes_of(format.types[i], values[i]);
        uint8 length[kMaxVarintBytes];
        size += strings[i].length + write_varint(length, strings[i].length);
        if (size > kTailCapacity)
            return nullptr;
    }
    size = Max(TYPEALIGN(4, size), size_t{kLeastTailTuple});
    if (size > kTailCapacity)
        return nullptr;
    auto *tail_tuple = reinterpret_cast<storage::TailTuple *>(allocate_zeroed<char>(size));
    tail_tuple->tid = tid;
    tail_tuple->info = static_cast<uint16>(size);
    auto *null_bits = reinterpret_cast<uint8 *>(tail_tuple + 1);
    uint8 *out = null_bits + null_bytes(format);
    for (int i = 0; i < format.columns; i++) {
        const ColumnType &type = format.types[i];
        if (nulls[i]) {
            null_bits[i / 8] |= static_cast<uint8>(1U << (i % 8));
        } else if (type.is_integer) {
            out = write_integer(out, encode_integer(type, values[i]), type.width);
        } else {
            out += write_varint(out, strings[i].length);
            memcpy(out, strings[i].data, strings[i].length);
            out += strings[i].length;
        }
    }
    return tail_tuple;
}

bool read_tail_tuple(const Format &format, const storage::TailTuple *tail_tuple, TupleValue *values) {
    const auto *null_bits = reinterpret_cast<const uint8 *>(tail_tuple + 1);
    const uint8 *at = null_bits + null_bytes(format);
    const uint8 *end = reinterpret_cast<const uint8 *>(tail_tuple) + storage::tail_tuple_size(tail_tuple);
    if (at > end)
        return false;
    for (int i = 0; i < format.columns; i++) {
        const ColumnType &type = format.types[i];
        values[i] = {};
        values[i].is_null = ((null_bits[i / 8] >> (i % 8)) & 1) != 0;
        if (values[i].is_null)
            continue;
        if (type.is_integer) {
            if (end - at < type.width)
                return false;
            values[i].integer = read_integer(at, type.width);
            at += type.width;
            continue;
        }
        uint64 length = 0;
        at = read_varint(at, end, &length);
        if (at == nullptr || length > static_cast<uint64>(end - at) ||
            (type.length > 0 && length != static_cast<uint64>(type.length)))
            return false;
        values[i].bytes = {reinterpret_cast<const char *>(at), length};
        at += length;
    }
    return end - at < 4 || storage::tail_tuple_size(tail_tuple) == kLeastTailTuple;
}

}  // namespace pg_gpu::column
