// Divides a run of inverted lists by documents: makes of its pages those of several runs, so that an engine
// takes each for a run of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gpu_engine/memory.h"
#include "server/divided_lists.h"
#include "server/placement.h"
#include "server/scratch.h"

namespace gpu_engine::server {

struct Work;

// What `documents` of a run's documents take, as far as that is known before their lists are: as much as the
// same share of the run, and some more.
TextShape shape_of_documents(const TextShape &run, std::uint64_t documents);

// A run's pages come twice, in the same order: how many bytes a part's lists take is known only when all of
// them have been cut, and neither the cut lists nor the pages are kept, since a run that has to be divided
// may be larger than the machine's memory. The first time lists are cut to be measured, the second time to be
// loaded. Pages aren't trusted: what differs the second time is refused.
class TextDivider {
  public:
    // The shares cover the run, and each begins with a whole word of a bitmap. What is on its way is counted
    // in `memory`, and what lasts as long as the parts in `lasting`. Throws Failure.
    TextDivider(MemoryBudget &memory, MemoryBudget &lasting, const TextShape &run,
                std::uint32_t content_bytes, const std::vector<RunShare> &shares);
    TextDivider(const TextDivider &) = delete;
    TextDivider &operator=(const TextDivider &) = delete;
    ~TextDivider();

    // The run's next lists. They come before pages. Throws Failure.
    void take_lists(const TextList *lists, std::uint64_t count);
    // Who names lists by what they are in the run needs this for as long as the parts live.
    std::shared_ptr<const DividedLists> share_lists() const noexcept { return lists_; }

    // Takes the next pages' contents. Throws Failure.
    void take_pages(const char *images, const PageLayout &layout, std::uint32_t first_page,
                    std::uint32_t pages);
    bool has_what_to_cut() const noexcept { return loads_ || end_list_ > first_list_ || has_all_pages(); }
    // Cuts the part's stretches out of the lists that have come, and forgets them with end_cut(). Parts may
    // do so at the same time. The second time `loader` gets what is full of the part's pages. Throws Failure.
    void cut(std::size_t part, Work &work, TextLoader *loader);
    void end_cut();

    bool is_measured() const noexcept { return has_all_pages() && !loads_; }
    // What a part takes, once that has been measured.
    TextShape shape(std::size_t part) const noexcept;
    std::uint32_t first(std::size_t part) const noexcept;
    std::uint32_t documents(std::size_t part) const noexcept;
    // From here on pages come for the second time.
    void begin_loading();
    bool is_loaded() const noexcept { return has_all_pages() && loads_; }

  private:
    class Section;
    struct Part;

    bool has_all_pages() const noexcept { return next_page_ == document_pages_ + posting_pages_; }
    void take_documents(const char *content, std::uint32_t count);
    void take_postings(const char *content, std::uint64_t bytes);
    void set_edges();
    void cut_list(std::size_t part, std::uint32_t list, const Work &work, TextList *own);
    void load_documents(Part &part, Work &work, TextLoader &loader);

    MemoryBudget &memory_;
    const TextShape run_;
    const std::uint32_t content_bytes_;
    const std::uint32_t documents_a_page_;
    const std::uint32_t document_pages_;
    const std::uint64_t posting_pages_;
    std::vector<double> wanted_;  // which share of all each part should have
    std::shared_ptr<DividedLists> lists_;
    std::vector<std::unique_ptr<Part>> parts_;
    bool loads_ = false;
    std::uint64_t next_page_ = 0;
    std::uint32_t taken_documents_ = 0;
    // The sum of the lengths of each so many documents; until the edges are known.
    CountedBytes counted_;
    std::vector<std::uint64_t> granule_lengths_;
    // The documents of the pages that have come.
    std::vector<Tid> tids_;
    std::vector<std::uint32_t> document_lengths_;
    std::uint32_t first_document_ = 0;
    // What has come of the posting section and isn't cut yet.
    std::unique_ptr<Scratch<std::uint8_t>> bytes_;
    std::uint64_t room_ = 0;
    std::uint64_t first_byte_ = 0;  // of the section
    std::uint64_t held_ = 0;
    std::uint32_t first_list_ = 0;  // to be cut
    std::uint32_t end_list_ = 0;
};

}  // namespace gpu_engine::server
