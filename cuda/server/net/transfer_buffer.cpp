#include "server/net/transfer_buffer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "server/log.h"

namespace gpu_engine::server {
namespace {

constexpr std::uint64_t page_bytes = 4096;

Status refuse(const char *message) {
    return make_status(StatusCode::invalid_argument, message);
}

Status out_of_memory(const char *what, int error) {
    char message[Status::message_capacity];
    std::snprintf(message, sizeof(message), "%s: %s", what, std::strerror(error));
    return make_status(StatusCode::out_of_memory, message);
}

}  // namespace

Status TransferBuffer::attach(const Descriptor &memfd, std::uint64_t bytes, MemoryBudget &budget) noexcept {
    detach();
    if (!memfd.valid()) {
        return refuse("no file descriptor came with the request, or this process may have no more");
    }
    // The owner of a buffer that isn't sealed could shorten it, and the next access to it would end this
    // process.
    constexpr int needed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    const int seals = fcntl(memfd.get(), F_GET_SEALS);
    if (seals < 0 || (seals & needed) != needed) {
        return refuse("the transfer buffer is not a memfd that is sealed against changes of its size");
    }
    struct stat file {};
    if (fstat(memfd.get(), &file) != 0 || bytes == 0 || bytes % page_bytes != 0 ||
        static_cast<std::uint64_t>(file.st_size) != bytes) {
        return refuse("the transfer buffer hasn't the size that the request says");
    }
    if (!budget.reserve(bytes)) {
        return make_status(StatusCode::out_of_memory, "the limit of all transfer buffers is reached");
    }
    // Memory that the buffer lacks is taken now, where that can fail, and not on access, where it can't.
    void *data = MAP_FAILED;
    int error = posix_fallocate(memfd.get(), 0, file.st_size);
    if (error == 0) {
        data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memfd.get(), 0);
        error = errno;
    }
    if (data == MAP_FAILED) {
        budget.release(bytes);
        return out_of_memory("mapping the transfer buffer", error);
    }
    data_ = static_cast<char *>(data);
    bytes_ = bytes;
    budget_ = &budget;
    return {};
}

void TransferBuffer::pin(Engine &engine) noexcept {
    if (data_ == nullptr || pinned_by_ != nullptr || pinning_failed_) {
        return;
    }
    const Status status = engine.pin(data_, bytes_);
    if (status.ok()) {
        pinned_by_ = &engine;
    } else {
        pinning_failed_ = true;
        log_warning("a transfer buffer of %llu bytes stays unpinned: %s",
                    static_cast<unsigned long long>(bytes_), status.message);
    }
}

void TransferBuffer::detach() noexcept {
    if (data_ == nullptr) {
        return;
    }
    if (pinned_by_ != nullptr) {
        pinned_by_->unpin(data_);
    }
    munmap(data_, bytes_);
    budget_->release(bytes_);
    data_ = nullptr;
    bytes_ = 0;
    pinned_by_ = nullptr;
    pinning_failed_ = false;
}

}  // namespace gpu_engine::server
