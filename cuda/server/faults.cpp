#include "server/faults.h"

#include <csignal>

#include "gpu_engine/current_request.h"
#include "gpu_engine/protocol_common.h"
#include "server/log.h"

namespace gpu_engine::server {
namespace {

void take_fault(int signal) {
    name_current_request();
    // The handler is gone by now.
    raise(signal);
}

}  // namespace

void name_current_request() noexcept {
    const auto *header = static_cast<const protocol::RequestHeader *>(current_request);
    if (header == nullptr || header->subject.database == 0) {
        return;
    }
    const protocol::Subject &subject = header->subject;
    log_warning(protocol::last_words, subject.database, subject.index, subject.kind, subject.shape,
                static_cast<unsigned>(header->engine));
}

void name_requests_of_faults() {
    for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) {
        struct sigaction action {};
        action.sa_handler = take_fault;
        action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER | SA_ONSTACK);
        sigemptyset(&action.sa_mask);
        sigaction(signal, &action, nullptr);
    }
}

FaultStack::FaultStack() noexcept {
    stack_t stack{};
    stack.ss_sp = bytes_;
    stack.ss_size = sizeof(bytes_);
    sigaltstack(&stack, nullptr);
}

FaultStack::~FaultStack() {
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
}

}  // namespace gpu_engine::server
