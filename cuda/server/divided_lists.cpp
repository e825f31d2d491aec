#include "server/divided_lists.h"

#include <algorithm>

#include "server/request.h"

#include "gpu_engine/boundary.h"

namespace gpu_engine::server {
namespace {

constexpr std::uint64_t least_list_bytes = 2;

[[noreturn]] void refuse_list() {
    refuse("an inverted list contradicts itself");
}

// Makes room for one more element, counting it.
template <typename Element>
void grow(std::vector<Element> *elements, CountedBytes *counted) {
    constexpr std::size_t few = 64;
    if (elements->size() == elements->capacity()) {
        const std::size_t more = std::max(elements->capacity(), few);
        counted->add(more * sizeof(Element));
        elements->reserve(elements->capacity() + more);
    }
}

}  // namespace

void CountedBytes::add(std::uint64_t bytes) {
    if (!memory_->reserve(bytes)) {
        throw Failure{make_status(StatusCode::out_of_memory, "the limit of the host's memory is reached")};
    }
    bytes_ += bytes;
}

DividedLists::DividedLists(MemoryBudget &memory, const TextShape &run, std::size_t parts)
    : run_(run), counted_(memory) {
    for (std::size_t part = 0; part < parts; ++part) {
        parts_.push_back(std::make_unique<Part>(memory));
    }
}

void DividedLists::add(const TextList *lists, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
        const TextList list = lists[i];
        const std::uint64_t end = lists_.empty() ? 0 : lists_.back().offset + lists_.back().bytes;
        if (list.documents < 2 || list.documents > run_.documents || list.bytes < least_list_bytes ||
            list.offset < end || list.offset > run_.posting_bytes ||
            list.bytes > run_.posting_bytes - list.offset || lists_.size() == UINT32_MAX) {
            refuse_list();
        }
        grow(&lists_, &counted_);
        lists_.push_back({list.offset, list.bytes, list.documents});
    }
}

void DividedLists::set_part(std::size_t part, std::uint32_t first, std::uint32_t documents) {
    parts_[part]->first = first;
    parts_[part]->documents = documents;
}

void DividedLists::place(std::size_t part, std::uint32_t list, const TextList &own) {
    Part &its = *parts_[part];
    const std::uint64_t single = std::uint64_t(own.frequency) << 32 | own.ordinal;
    grow(&its.placed, &its.counted);
    its.placed.push_back({own.documents == 1 ? single : own.offset, own.bytes, list, own.documents});
}

TextList DividedLists::Placed::named() const noexcept {
    TextList own = {};
    own.documents = documents;
    if (documents == 1) {
        own.ordinal = static_cast<std::uint32_t>(place);
        own.frequency = static_cast<std::uint32_t>(place >> 32);
    } else {
        own.offset = place;
        own.bytes = bytes;
    }
    return own;
}

bool DividedLists::find(std::size_t part, const TextList &asked, TextList *own) const {
    const Part &its = *parts_[part];
    if (asked.documents == 1) {
        if (asked.ordinal >= run_.documents || asked.frequency == 0) {
            refuse_list();
        }
        *own = asked;
        own->ordinal -= its.first;
        return asked.ordinal >= its.first && own->ordinal < its.documents;
    }
    const auto whole =
        std::lower_bound(lists_.begin(), lists_.end(), asked.offset,
                         [](const Whole &list, std::uint64_t offset) { return list.offset < offset; });
    if (whole == lists_.end() || whole->offset != asked.offset || whole->bytes != asked.bytes ||
        whole->documents != asked.documents) {
        refuse_list();
    }
    const auto list = static_cast<std::uint32_t>(whole - lists_.begin());
    const auto found =
        std::lower_bound(its.placed.begin(), its.placed.end(), list,
                         [](const Placed &placed, std::uint32_t number) { return placed.list < number; });
    if (found == its.placed.end() || found->list != list) {
        return false;
    }
    *own = found->named();
    return true;
}

}  // namespace gpu_engine::server
