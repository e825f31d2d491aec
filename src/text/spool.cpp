#include "text/spool.h"

namespace pg_gpu::text {

void begin_spool(Spool *spool, Relation index, size_t limit) {
    *spool = {};
    spool->index = index;
    spool->limit = limit;
}

void append_to_spool(Spool *spool, const void *bytes, size_t length) {
    if (spool->file == nullptr && spool->length + length > spool->limit) {
        spool->file = BufFileCreateTemp(false);
        if (spool->memory != nullptr) {
            BufFileWrite(spool->file, spool->memory, spool->length);
            pfree(spool->memory);
            spool->memory = nullptr;
        }
    }
    if (spool->file != nullptr) {
        BufFileWrite(spool->file, const_cast<void *>(bytes), length);
    } else {
        if (spool->length + length > spool->room) {
            spool->room = Max(Max(spool->room * 2, size_t{1024}), spool->length + length);
            spool->memory = spool->memory == nullptr ? allocate<char>(spool->room)
                                                     : reallocate(spool->memory, spool->room);
        }
        memcpy(spool->memory + spool->length, bytes, length);
    }
    spool->length += length;
}

void rewind_spool(Spool *spool) {
    spool->read = 0;
    if (spool->file != nullptr)
        rewind_file(spool->file, spool->index);
}

void read_spool(Spool *spool, void *bytes, size_t length) {
    if (spool->file != nullptr)
        read_file(spool->file, bytes, length, spool->index);
    else
        memcpy(bytes, spool->memory + spool->read, length);
    spool->read += length;
}

void end_spool(Spool *spool) {
    if (spool->file != nullptr)
        BufFileClose(spool->file);
    if (spool->memory != nullptr)
        pfree(spool->memory);
    *spool = {};
}

}  // namespace pg_gpu::text
