#include "temporary_file.h"

namespace pg_gpu {

static void require_position(int result, Relation index) {
    if (result != 0)
        ereport(ERROR,
                (errcode_for_file_access(), errmsg("could not seek in a temporary file of index \"%s\": %m",
                                                   RelationGetRelationName(index))));
}

void rewind_file(BufFile *file, Relation index) {
    require_position(BufFileSeek(file, 0, 0, SEEK_SET), index);
}

void seek_file_block(BufFile *file, uint64 block, Relation index) {
    require_position(BufFileSeekBlock(file, static_cast<long>(block)), index);
}

void read_file(BufFile *file, void *bytes, size_t length, Relation index) {
    const size_t read = BufFileRead(file, bytes, length);
    if (read != length)
        ereport(ERROR, (errcode(ERRCODE_IO_ERROR),
                        errmsg("could not read from a temporary file of index \"%s\"",
                               RelationGetRelationName(index)),
                        errdetail("Only %zu of %zu bytes were read.", read, length)));
}

}  // namespace pg_gpu
