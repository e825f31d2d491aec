#include "server/text_divider.h"

#include <algorithm>
#include <cstring>

#include "gpu_engine/list_blocks.h"
#include "server/document_pages.h"
#include "server/request.h"

#include "gpu_engine/boundary.h"

namespace gpu_engine::server {
namespace {

constexpr std::uint32_t document_bytes = sizeof(Tid) + length_bytes;
constexpr std::uint32_t posting_pages_at_once = 16;
constexpr std::uint32_t document_pages_at_once = 4;
// A cancelled request ends after so many blocks at last.
constexpr std::uint32_t blocks_at_once = 4096;

[[noreturn]] void refuse_list() {
    refuse("an inverted list contradicts itself");
}
[[noreturn]] void refuse_other() {
    refuse("the run's pages were others when they came first");
}

void check_cancelled(const Work &work) {
    if (work.stream->cancelled()) {
        throw Failure{make_status(StatusCode::cancelled, "cancelled by the caller")};
    }
}

}  // namespace

TextShape shape_of_documents(const TextShape &run, std::uint64_t documents) {
    // Lists that are cut begin more blocks, and documents of a stretch may be longer than others.
    constexpr double more = 1.125;
    // No run has so many, and what is not so much more is a number still.
    constexpr double max_bytes = 0x1p62;
    const double share = static_cast<double>(documents) / static_cast<double>(run.documents);
    const double bytes = static_cast<double>(run.posting_bytes) * share * more;
    return {static_cast<std::uint64_t>(std::min(bytes, max_bytes)) + 1, static_cast<std::uint32_t>(documents),
            run.codec};
}

// The posting section of a part: measured first, then handed over by whole pages.
class TextDivider::Section {
  public:
    Section(MemoryBudget &memory, std::uint64_t *bytes) : memory_(memory), bytes_(bytes) {}

    // `bytes` is how many there will be, once that is known.
    void begin(Work &work, TextLoader *loader, std::uint64_t bytes) {
        work_ = &work;
        loader_ = loader;
        if (loader != nullptr && pages_ == nullptr) {
            room_ = std::min(pages_for(bytes, posting_page_bytes), posting_pages_at_once) *
                    std::uint64_t(posting_page_bytes);
            pages_ = std::make_unique<Scratch<char>>(memory_, room_);
        }
    }
    void take(const std::uint8_t *bytes, std::uint64_t count) {
        *bytes_ += count;
        while (loader_ != nullptr && count > 0) {
            if (room_ == 0) {
                refuse_other();
            }
            const std::uint64_t some = std::min(count, room_ - filled_);
            std::memcpy(pages_->data() + filled_, bytes, some);
            filled_ += some;
            bytes += some;
            count -= some;
            if (filled_ == room_) {
                hand_over();
            }
        }
    }
    void hand_over() {
        if (filled_ > 0) {
            const TextPages pages = {pages_->data(), pages_for(filled_, posting_page_bytes),
                                     posting_page_bytes, 0, posting_page_bytes};
            check(with_room(*work_, [&] { return loader_->append_postings(*work_->stream, pages); }));
            filled_ = 0;
        }
    }

  private:
    MemoryBudget &memory_;
    std::uint64_t *bytes_;  // that have been taken
    Work *work_ = nullptr;
    TextLoader *loader_ = nullptr;
    std::unique_ptr<Scratch<char>> pages_;
    std::uint64_t room_ = 0;
    std::uint64_t filled_ = 0;
};

struct TextDivider::Part {
    struct Take {
        Section *section;
        void operator()(const std::uint8_t *bytes, std::uint32_t count) const { section->take(bytes, count); }
    };

    Part(MemoryBudget &memory, postings::Codec codec) : section(memory, &bytes), writer(codec, {&section}) {}

    std::uint32_t first = 0;
    std::uint32_t documents = 0;
    std::uint64_t bytes = 0;     // of lists that have been cut
    std::uint64_t measured = 0;  // all of them
    std::size_t loaded_lists = 0;
    Section section;
    ListWriter<Take> writer;
    ListBlocks blocks;
    // Documents that have come and fill no pages yet.
    std::vector<Tid> tids;
    std::vector<std::uint32_t> lengths;
    std::uint32_t loaded_documents = 0;
};

TextDivider::TextDivider(MemoryBudget &memory, MemoryBudget &lasting, const TextShape &run,
                         std::uint32_t content_bytes, const std::vector<RunShare> &shares)
    : memory_(memory),
      run_(run),
      content_bytes_(content_bytes),
      documents_a_page_(content_bytes / document_bytes),
      document_pages_(documents_a_page_ > 0 ? pages_for(run.documents, documents_a_page_) : 0),
      posting_pages_(content_bytes > 0 ? (run.posting_bytes + content_bytes - 1) / content_bytes : 0),
      lists_(std::make_shared<DividedLists>(lasting, run, shares.size())),
      counted_(memory) {
    if (documents_a_page_ == 0) {
        refuse("no page has this layout");
    }
    for (const RunShare &share : shares) {
        wanted_.push_back(static_cast<double>(share.entries) / static_cast<double>(run.documents));
        parts_.push_back(std::make_unique<Part>(memory, run.codec));
    }
    const std::uint64_t granules = (run.documents + share_granule - 1) / share_granule;
    counted_.add(granules * sizeof(std::uint64_t));
    granule_lengths_.resize(granules);
}

TextDivider::~TextDivider() = default;

void TextDivider::take_lists(const TextList *lists, std::uint64_t count) {
    if (next_page_ > 0 || loads_) {
        refuse("lists come before pages");
    }
    lists_->add(lists, count);
}

// ---- pages ------------------------------------------------------------------------------------------------

void TextDivider::take_pages(const char *images, const PageLayout &layout, std::uint32_t first_page,
                             std::uint32_t pages) {
    if (layout.first_byte > layout.page_bytes || content_bytes_ > layout.page_bytes - layout.first_byte) {
        refuse("no page has this layout");
    }
    if (first_page != next_page_ || pages > document_pages_ + posting_pages_ - next_page_) {
        refuse("the run has no more such pages");
    }
    tids_.clear();
    document_lengths_.clear();
    first_document_ = taken_documents_;
    for (std::uint32_t i = 0; i < pages; ++i, ++next_page_) {
        const char *content = images + std::uint64_t(i) * layout.page_bytes + layout.first_byte;
        if (next_page_ < document_pages_) {
            take_documents(content, std::min(documents_a_page_, run_.documents - taken_documents_));
            if (taken_documents_ == run_.documents && !loads_) {
                set_edges();
            }
        } else {
            const std::uint64_t before = (next_page_ - document_pages_) * content_bytes_;
            take_postings(content, std::min<std::uint64_t>(content_bytes_, run_.posting_bytes - before));
        }
    }
    const std::uint64_t end = first_byte_ + held_;
    while (end_list_ < lists_->size() && (*lists_)[end_list_].offset + (*lists_)[end_list_].bytes <= end) {
        ++end_list_;
    }
    if (has_all_pages() && end_list_ != lists_->size()) {
        refuse_list();
    }
}

void TextDivider::take_documents(const char *content, std::uint32_t count) {
    const auto *lengths = reinterpret_cast<const unsigned char *>(content + count * sizeof(Tid));
    const std::size_t before = tids_.size();
    if (loads_) {
        tids_.resize(before + count);
        std::memcpy(tids_.data() + before, content, count * sizeof(Tid));
    }
    for (std::uint32_t i = 0; i < count; ++i, lengths += length_bytes) {
        const std::uint32_t length =
            std::uint32_t(lengths[0]) | std::uint32_t(lengths[1]) << 8 | std::uint32_t(lengths[2]) << 16;
        if (loads_) {
            document_lengths_.push_back(length);
        } else if (length != null_text_length) {
            granule_lengths_[(taken_documents_ + i) / share_granule] += length;
        }
    }
    taken_documents_ += count;
}

// Documents differ in length, mostly by age, so that as many of them may have much longer lists. Each part
// gets its share of bytes, and one granule at least.
void TextDivider::set_edges() {
    double lengths = 0;
    for (const std::uint64_t length : granule_lengths_) {
        lengths += static_cast<double>(length);
    }
    const double posting_bytes = lengths > 0 ? static_cast<double>(run_.posting_bytes) / lengths : 0;
    const double bytes_of_granule = static_cast<double>(share_granule * document_bytes);
    const double all =
        static_cast<double>(granule_lengths_.size()) * bytes_of_granule + lengths * posting_bytes;
    double before = 0;
    double wanted = 0;
    std::size_t next = 0;
    for (std::size_t part = 0; part < parts_.size(); ++part) {
        const std::size_t begin = next;
        const std::size_t later = parts_.size() - 1 - part;
        wanted += wanted_[part] * all;
        for (; next < granule_lengths_.size() - later; ++next) {
            const double bytes =
                bytes_of_granule + static_cast<double>(granule_lengths_[next]) * posting_bytes;
            if (later > 0 && next > begin && before + bytes / 2 > wanted) {
                break;
            }
            before += bytes;
        }
        const auto first = static_cast<std::uint32_t>(begin * share_granule);
        const std::uint64_t end = std::min<std::uint64_t>(next * share_granule, run_.documents);
        parts_[part]->first = first;
        parts_[part]->documents = static_cast<std::uint32_t>(end - first);
        lists_->set_part(part, first, parts_[part]->documents);
    }
}

// A list is cut when all of it has come, since what blocks it has is said behind them.
void TextDivider::take_postings(const char *content, std::uint64_t bytes) {
    const std::uint64_t needed = held_ + bytes + postings::kPadding;
    if (needed > room_) {
        std::uint64_t room = needed + needed / 2;
        if (end_list_ < lists_->size() && (*lists_)[end_list_].offset < first_byte_ + needed) {
            room = std::max(room, (*lists_)[end_list_].bytes + needed);
        }
        auto larger = std::make_unique<Scratch<std::uint8_t>>(memory_, room);
        if (held_ > 0) {
            std::memcpy(larger->data(), bytes_->data(), held_);
        }
        bytes_ = std::move(larger);
        room_ = room;
    }
    std::memcpy(bytes_->data() + held_, content, bytes);
    held_ += bytes;
    std::memset(bytes_->data() + held_, 0, postings::kPadding);
}

// ---- cutting ----------------------------------------------------------------------------------------------

void TextDivider::cut(std::size_t part, Work &work, TextLoader *loader) {
    Part &its = *parts_[part];
    its.section.begin(work, loader, its.measured);
    if (loader != nullptr) {
        load_documents(its, work, *loader);
    }
    const std::vector<DividedLists::Placed> &placed = lists_->placed(part);
    for (std::uint32_t list = first_list_; list < end_list_; ++list) {
        const std::uint64_t offset = its.bytes;
        TextList own;
        cut_list(part, list, work, &own);
        own.offset = offset;
        if (own.documents == 0) {
            continue;
        }
        if (loader == nullptr) {
            lists_->place(part, list, own);
            continue;
        }
        if (its.loaded_lists == placed.size()) {
            refuse_other();
        }
        const TextList measured = placed[its.loaded_lists++].named();
        if (placed[its.loaded_lists - 1].list != list || measured.documents != own.documents ||
            measured.bytes != own.bytes ||
            (own.documents == 1 ? measured.ordinal != own.ordinal || measured.frequency != own.frequency
                                : measured.offset != own.offset)) {
            refuse_other();
        }
    }
    if (has_all_pages()) {
        if (loader != nullptr) {
            its.section.hand_over();
        } else {
            its.measured = its.bytes;
        }
    }
}

void TextDivider::cut_list(std::size_t part, std::uint32_t list, const Work &work, TextList *own) {
    Part &its = *parts_[part];
    ListBlocks &blocks = its.blocks;
    const DividedLists::Whole &whole = (*lists_)[list];
    const std::uint8_t *bytes = bytes_->data() + (whole.offset - first_byte_);
    if (!blocks.open(run_.codec, bytes, whole.bytes, whole.documents, run_.documents)) {
        refuse_list();
    }
    const std::uint32_t end = its.first + its.documents;
    bool is_before_end = true;
    for (std::uint32_t block = blocks.find(its.first); block < blocks.blocks() && is_before_end; ++block) {
        if (block % blocks_at_once == 0) {
            check_cancelled(work);
        }
        if (!blocks.decode(block)) {
            refuse_list();
        }
        for (std::uint32_t i = 0; i < blocks.count(); ++i) {
            const std::uint32_t ordinal = blocks.ordinal(i);
            if (ordinal >= its.first && ordinal < end) {
                its.writer.add(ordinal - its.first, blocks.frequency(i), blocks.bound());
            }
        }
        is_before_end = blocks.ordinal(blocks.count() - 1) + 1 < end;
    }
    *own = its.writer.finish();
    if (own->documents > 1 && own->bytes == 0) {
        refuse("a list is too long to be divided");
    }
}

void TextDivider::end_cut() {
    first_list_ = end_list_;
    const std::uint64_t end = first_byte_ + held_;
    const std::uint64_t kept =
        first_list_ < lists_->size() ? std::min((*lists_)[first_list_].offset, end) : end;
    if (kept > first_byte_) {
        held_ = end - kept;
        std::memmove(bytes_->data(), bytes_->data() + (kept - first_byte_), held_ + postings::kPadding);
        first_byte_ = kept;
    }
}

// ---- loading ----------------------------------------------------------------------------------------------

TextShape TextDivider::shape(std::size_t part) const noexcept {
    return {parts_[part]->measured, parts_[part]->documents, run_.codec};
}

std::uint32_t TextDivider::first(std::size_t part) const noexcept {
    return parts_[part]->first;
}

std::uint32_t TextDivider::documents(std::size_t part) const noexcept {
    return parts_[part]->documents;
}

void TextDivider::begin_loading() {
    loads_ = true;
    next_page_ = 0;
    taken_documents_ = 0;
    first_byte_ = 0;
    held_ = 0;
    first_list_ = 0;
    end_list_ = 0;
    for (const std::unique_ptr<Part> &part : parts_) {
        part->bytes = 0;
    }
}

void TextDivider::load_documents(Part &part, Work &work, TextLoader &loader) {
    constexpr std::uint32_t at_once = document_pages_at_once * documents_a_page;
    const std::uint64_t came = first_document_ + tids_.size();
    const std::uint64_t first = std::max<std::uint64_t>(part.first, first_document_);
    const std::uint64_t end = std::min<std::uint64_t>(part.first + part.documents, came);
    if (first >= end) {
        return;
    }
    const auto at = static_cast<std::ptrdiff_t>(first - first_document_);
    const auto behind = static_cast<std::ptrdiff_t>(end - first_document_);
    part.tids.insert(part.tids.end(), tids_.begin() + at, tids_.begin() + behind);
    part.lengths.insert(part.lengths.end(), document_lengths_.begin() + at,
                        document_lengths_.begin() + behind);
    const bool is_last = end == part.first + part.documents;
    std::size_t given = 0;
    while (part.tids.size() - given >= at_once || (is_last && given < part.tids.size())) {
        const auto count =
            static_cast<std::uint32_t>(std::min<std::size_t>(at_once, part.tids.size() - given));
        const Scratch<char> pages(memory_,
                                  std::uint64_t(pages_for(count, documents_a_page)) * document_page_bytes);
        write_document_pages(part.tids.data() + given, part.lengths.data() + given, count, pages.data());
        const TextPages images = {pages.data(), pages_for(count, documents_a_page), document_page_bytes, 0,
                                  document_page_bytes};
        check(with_room(work, [&] { return loader.append_documents(*work.stream, images); }));
        given += count;
        work.items += count;
    }
    part.tids.erase(part.tids.begin(), part.tids.begin() + static_cast<std::ptrdiff_t>(given));
    part.lengths.erase(part.lengths.begin(), part.lengths.begin() + static_cast<std::ptrdiff_t>(given));
}

}  // namespace gpu_engine::server
