// The transfer buffer: a sealed memfd that session and server process both map.
#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>

#include "rpc/buffer.h"
#include "rpc/rpc.h"
#include "settings.h"

namespace pg_gpu::client {

namespace {

struct Buffer {
    int fd = -1;
    char *base = nullptr;
    uint64 bytes = 0;
};

}  // namespace

static Buffer buffer;
static MemoryContext results = nullptr;
static int uncounted = 0;
static constexpr uint64 kSmallestBuffer = 256 * 1024;

uint64 buffer_bytes() {
    return buffer.bytes;
}

char *buffer_at(uint64 offset) {
    return buffer.base + offset;
}

int buffer_descriptor() {
    return buffer.fd;
}

const void *copy_of_results(uint64 offset, uint64 bytes) {
    Assert(offset <= buffer.bytes && bytes <= buffer.bytes - offset);
    if (results == nullptr)
        results = AllocSetContextCreate(TopMemoryContext, "pg_gpu results", ALLOCSET_DEFAULT_SIZES);
    void *copy = MemoryContextAllocHuge(results, Max(bytes, 1));
    memcpy(copy, buffer_at(offset), bytes);
    return copy;
}

void forget_results() {
    if (results != nullptr)
        MemoryContextReset(results);
}

static bool close_buffer() {
    const bool was_open = buffer.fd >= 0;
    if (buffer.base != nullptr)
        munmap(buffer.base, buffer.bytes);
    if (was_open)
        close(buffer.fd);
    buffer = {};
    return was_open;
}

void drop_buffer() {
    if (close_buffer())
        ReleaseExternalFD();
}

void drop_buffer_in_handler() {
    if (close_buffer())
        uncounted++;
}

int take_uncounted_descriptors() {
    const int count = uncounted;
    uncounted = 0;
    return count;
}

// Makes the buffer with all of its pages: where memory is short posix_fallocate fails here, and no signal
// comes at the first touch. A peer can't take them away again either, once the file is sealed.
static bool make_buffer(uint64 bytes) {
    if (!AcquireExternalFD())
        return fail(RequestFailure::Memory, kTooManyFiles);
    buffer.fd = memfd_create("pg_gpu", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (buffer.fd < 0) {
        ReleaseExternalFD();
        return fail(RequestFailure::Memory, "no transfer buffer: %m");
    }
    int error;
    while ((error = posix_fallocate(buffer.fd, 0, static_cast<off_t>(bytes))) == EINTR)
        CHECK_FOR_INTERRUPTS();
    if (error == 0 && fcntl(buffer.fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        error = errno;
    if (error == 0) {
        void *base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, buffer.fd, 0);
        if (base != MAP_FAILED) {
            buffer.base = static_cast<char *>(base);
            buffer.bytes = bytes;
            return true;
        }
        error = errno;
    }
    drop_buffer();
    errno = error;
    return fail(RequestFailure::Memory, "no transfer buffer of %llu MiB: %m",
                static_cast<unsigned long long>(bytes >> 20));
}

static bool attach_buffer(uint64 bytes) {
    drop_buffer();
    if (!make_buffer(bytes))
        return false;
    auto attach = make_message<protocol::Attach>(protocol::Message::attach, Path::Host);
    attach.bytes = bytes;
    protocol::ReplyHeader reply;
    if (!exchange(&attach, &reply, 0, buffer.fd))
        return false;
    if (result_of(reply) == protocol::ReplyResult::done)
        return true;
    drop_buffer();
    return fail_by_reply(reply);
}

bool need_buffer(uint64 least, uint64 wanted) {
    const uint64 limit = session_transfer_limit();
    if (least > limit)
        return fail(RequestFailure::Memory, "needs more than pg_gpu.session_transfer_memory");
    wanted = Min(Max(wanted, least), limit);
    if (buffer.bytes >= wanted)
        return true;
    // A power of two, so that a session that asks for a little more each time doesn't grow each time.
    uint64 bytes = kSmallestBuffer;
    while (bytes < wanted)
        bytes *= 2;
    for (;;) {
        if (attach_buffer(Max(Min(bytes, limit), least + BLCKSZ - 1) / BLCKSZ * BLCKSZ))
            return true;
        if (!is_connected() || last_failure() != RequestFailure::Memory ||
            bytes / 2 < Max(least, kSmallestBuffer))
            return false;
        bytes /= 2;
    }
}

}  // namespace pg_gpu::client
