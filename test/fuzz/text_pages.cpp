#include <algorithm>
#include <memory>
#include <vector>

#include "gpu_engine/text.h"

#include "engine.h"

namespace fuzz {
namespace {

using namespace gpu_engine;

constexpr std::uint32_t text_first_byte = 24;
constexpr std::uint32_t content_bytes = 456;
constexpr std::uint32_t text_page_bytes = 496;
constexpr std::uint32_t documents_a_page = content_bytes / 9;

// Sections of page images: documents with ascending TIDs, and any bytes for postings.
struct Sections {
    std::vector<std::uint8_t> documents;
    std::vector<std::uint8_t> postings;
};

std::vector<std::uint8_t> pages_for(std::uint64_t parts, std::uint64_t a_page) {
    return std::vector<std::uint8_t>((parts + a_page - 1) / a_page * text_page_bytes);
}

Sections compose_sections(Input &input, const TextShape &shape, bool valid_tids) {
    Sections sections{pages_for(shape.documents, documents_a_page),
                      pages_for(shape.posting_bytes, content_bytes)};
    for (std::uint32_t first = 0; first < shape.documents; first += documents_a_page) {
        std::uint8_t *content =
            sections.documents.data() + first / documents_a_page * text_page_bytes + text_first_byte;
        const std::uint32_t here = std::min(documents_a_page, shape.documents - first);
        for (std::uint32_t i = 0; i < here; ++i) {
            const auto block = static_cast<std::uint16_t>((first + i) / 100);
            const Tid tid = valid_tids ? Tid{0, block, static_cast<std::uint16_t>((first + i) % 100 + 1)}
                                       : Tid{input.take<std::uint16_t>(), block, 1};
            std::memcpy(content + i * sizeof(tid), &tid, sizeof(tid));
            content[here * sizeof(tid) + i * 3] = input.take<std::uint8_t>();
        }
    }
    for (std::uint64_t at = 0; at < shape.posting_bytes; at += content_bytes) {
        const auto here =
            static_cast<std::size_t>(std::min<std::uint64_t>(content_bytes, shape.posting_bytes - at));
        input.take_bytes(sections.postings.data() + at / content_bytes * text_page_bytes + text_first_byte,
                         here);
    }
    return sections;
}

TextList compose_list(Input &input, const TextShape &shape) {
    TextList list{};
    list.offset = input.take<std::uint16_t>() % (shape.posting_bytes + 1);
    list.bytes = input.take<std::uint16_t>() % (shape.posting_bytes - list.offset + 1);
    list.documents = 1 + input.take<std::uint16_t>() % shape.documents;
    list.ordinal = input.take<std::uint16_t>();
    list.frequency = input.take<std::uint8_t>();
    return list;
}

// Whatever the lists say, hits are live documents in order, each once, and refusals are told as such.
void submit(Stream &stream, const TextIndex &index, Input &input) {
    std::vector<TextTerm> terms(1 + input.take<std::uint8_t>() % 4);
    std::vector<TextList> lists;
    for (TextTerm &term : terms) {
        term = {compose_list(input, index.shape()), static_cast<double>(input.take<std::uint32_t>()), 0, 1};
        lists.push_back(term.list);
    }
    const TextRanking ranking{{1.0, 0.01}, input.take<std::uint8_t>() % 3 - 1.0};
    const auto count = static_cast<std::uint32_t>(terms.size());
    // The first term has a list, the second one the others.
    std::for_each(terms.begin() + 1, terms.end(), [](TextTerm &term) { term.number = 1; });
    constexpr TextStep steps[] = {
        {TextStepKind::has, 0}, {TextStepKind::lacks, 1}, {TextStepKind::either, 0}};
    for (const TextMode mode : {TextMode::any, TextMode::all, TextMode::steps}) {
        TextQuery query{};
        query.terms = count;
        query.mode = mode;
        query.k = 1 + input.take<std::uint8_t>();
        query.steps = 3;
        std::vector<TextHit> hits(query.k);
        std::uint32_t found = 0;
        const Status status =
            index.search(stream, ranking, {&query, 1, terms.data(), count, steps, 3}, hits.data(), &found);
        require(status.ok() || status.code == StatusCode::invalid_argument, status.message);
        if (!status.ok()) {
            continue;
        }
        require(found <= query.k, "more hits than were wanted");
        for (std::uint32_t i = 0; i < found; ++i) {
            require(hits[i].ordinal < index.shape().documents, "a hit that is no document");
            require(i == 0 || hits[i].score < hits[i - 1].score ||
                        (hits[i].score == hits[i - 1].score && hits[i - 1].ordinal < hits[i].ordinal),
                    "hits out of order");
        }
    }
    std::vector<Tid> tids(index.shape().documents);
    std::uint64_t found = 0;
    const Status status = index.intersect(stream, lists.data(), count, tids.data(), tids.size(), &found);
    require(!status.ok() || found <= tids.size(), "more members than documents");
    std::vector<std::uint32_t> counts(count);
    static_cast<void>(index.count_documents(stream, lists.data(), count, counts.data()));
}

}  // namespace

void text_pages(const std::uint8_t *data, std::size_t size) {
    const std::unique_ptr<Stream> stream = host_stream();
    Input input(data, size);
    TextShape shape{};
    shape.codec = static_cast<postings::Codec>(input.take<std::uint8_t>() % 3);
    shape.documents = 1 + input.take<std::uint16_t>() % 1000;
    shape.posting_bytes = 1 + input.take<std::uint16_t>() % 4000;
    const bool valid_tids = input.take<std::uint8_t>() % 8 != 0;
    // Requests come first in the input, since postings take what is left.
    std::uint8_t requests[96] = {};
    input.take_bytes(requests, sizeof(requests));
    const Sections sections = compose_sections(input, shape, valid_tids);
    const auto pages_of = [](const std::vector<std::uint8_t> &images) {
        return TextPages{images.data(), static_cast<std::uint32_t>(images.size() / text_page_bytes),
                         text_page_bytes, text_first_byte, content_bytes};
    };
    std::unique_ptr<TextLoader> loader;
    require(host_engine().text().open_loader(*stream, shape, &loader).ok(), "no loader");
    const Status documents = loader->append_documents(*stream, pages_of(sections.documents));
    require(documents.ok() || !valid_tids, documents.message);
    if (!documents.ok()) {
        require(loader->loaded_documents() == 0, "documents were refused, and some have come");
        return;
    }
    require(loader->append_postings(*stream, pages_of(sections.postings)).ok(), "postings are refused");
    std::unique_ptr<TextIndex> index;
    require(loader->finish(*stream, &index).ok(), "the index isn't made");
    std::vector<std::uint64_t> dead((shape.documents + 63) / 64, requests[0] % 2 != 0 ? 0x10101 : 0);
    dead.back() = 0;
    require(index->set_dead(*stream, dead.data(), 1).ok(), "no dead documents");
    Input requested(requests, sizeof(requests));
    submit(*stream, *index, requested);
}

}  // namespace fuzz
