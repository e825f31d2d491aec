// PostgreSQL's own function that reads pages raises an error where a file can't be opened, and leaves the
// file open that it has read. This is a reader's second look at what is elsewhere, too, so it just gives up.
#include "table/wal_records.h"

#include <unistd.h>

#include "table/shared_facts.h"

extern "C" {
#include "access/xlog_internal.h"
}

namespace pg_gpu::table {

namespace {

// What is read from.
struct Files {
    TimeLineID timeline;
    XLogRecPtr end;  // up to where there is something to read
    XLogSegNo segment;
    int descriptor;  // of the segment; -1: none is open
    bool reached_end;
};

}  // namespace

static void close_segment(Files *files) {
    if (files->descriptor >= 0)
        close(files->descriptor);
    files->descriptor = -1;
}

static bool open_segment(Files *files, XLogSegNo segment) {
    if (files->descriptor >= 0 && files->segment == segment)
        return true;
    close_segment(files);
    char path[MAXPGPATH];
    XLogFilePath(path, files->timeline, segment, wal_segment_size);
    files->descriptor = BasicOpenFile(path, O_RDONLY | PG_BINARY);
    files->segment = segment;
    return files->descriptor >= 0;
}

// As XLogPageReadCB says: a page's first bytes, at least so many of them.
static int read_page(XLogReaderState *reader, XLogRecPtr page, int wanted, XLogRecPtr, char *buffer) {
    auto *files = static_cast<Files *>(reader->private_data);
    if (page + static_cast<uint64>(wanted) > files->end) {
        files->reached_end = true;
        return -1;
    }
    XLogSegNo segment;
    XLByteToSeg(page, segment, wal_segment_size);
    if (!open_segment(files, segment))
        return -1;
    const auto bytes = static_cast<int>(Min(files->end - page, uint64{XLOG_BLCKSZ}));
    const auto offset = static_cast<off_t>(XLogSegmentOffset(page, wal_segment_size));
    for (int done = 0; done < bytes;) {
        const ssize_t read =
            pread(files->descriptor, buffer + done, static_cast<size_t>(bytes - done), offset + done);
        if (read <= 0 && !(read < 0 && errno == EINTR))
            return -1;
        done += read > 0 ? static_cast<int>(read) : 0;
    }
    reader->seg.ws_tli = files->timeline;
    return bytes;
}

static void clear_blocks(XLogReaderState *reader) {
    for (int i = 0; i <= XLogRecMaxBlockId(reader); i++) {
        PhysicalRelation relation;
        ForkNumber fork;
        BlockNumber block;
        if (XLogRecGetBlockTagExtended(reader, static_cast<uint8>(i), &relation, &fork, &block, nullptr) &&
            fork == MAIN_FORKNUM)
            clear_current(place_of(relation), block, reader->EndRecPtr);
    }
}

// PostgreSQL looks for itself only at what a record says of the one before when it has read that, too. What
// lies behind the end of a file's records may be a record of another time.
static bool follows_on(XLogReaderState *reader, const WalPlace &place) {
    return place.previous == 0 || XLogRecGetPrev(reader) == place.previous;
}

static bool read_records(XLogReaderState *reader, WalPlace *place, XLogRecPtr end) {
    const auto *files = static_cast<const Files *>(reader->private_data);
    XLogBeginRead(reader, place->next);
    while (place->next < end) {
        char *error = nullptr;
        // The last record that is flushed in part alone is left for the next time.
        if (XLogReadRecord(reader, &error) == nullptr)
            return error == nullptr && files->reached_end;
        if (reader->EndRecPtr > end)
            return true;
        // Databases and files that come and go may take the place of others.
        if (!follows_on(reader, *place) || XLogRecGetRmid(reader) == RM_DBASE_ID ||
            XLogRecGetRmid(reader) == RM_TBLSPC_ID)
            return false;
        clear_blocks(reader);
        *place = {reader->EndRecPtr, reader->ReadRecPtr};
    }
    return true;
}

bool read_changed_blocks(WalPlace *place, XLogRecPtr end, bool is_record_end, TimeLineID timeline) {
    // By itself the reader would take it with an error where there is none.
    constexpr size_t decode_bytes = 64 * 1024;
    void *decode_buffer = palloc_extended(decode_bytes, MCXT_ALLOC_NO_OOM);
    Files files = {timeline, end, 0, -1, false};
    XLogReaderRoutine routine = {};
    routine.page_read = read_page;
    XLogReaderState *reader =
        decode_buffer == nullptr ? nullptr : XLogReaderAllocate(wal_segment_size, nullptr, &routine, &files);
    bool is_good = reader != nullptr;
    if (is_good) {
        XLogReaderSetDecodeBuffer(reader, decode_buffer, decode_bytes);
        is_good = read_records(reader, place, end) && (!is_record_end || place->next == end);
        XLogReaderFree(reader);
    }
    close_segment(&files);
    if (decode_buffer != nullptr)
        pfree(decode_buffer);
    return is_good;
}

}  // namespace pg_gpu::table
