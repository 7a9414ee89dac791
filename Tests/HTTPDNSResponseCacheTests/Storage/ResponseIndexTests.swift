// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPTypes
import Testing

@testable import HTTPDNSResponseCache

struct ResponseIndexTests {
    private let request = CacheRequest(method: .get, fields: [:])

    private func index(bytes: Int = 1000, entries: Int = 100, age: Int64 = 1000) -> ResponseIndex {
        ResponseIndex(ResponseIndex.Limits(bytes: bytes, entries: entries, age: age))
    }

    private func stored(_ number: Int) -> StoredHead {
        var stored = head([:])
        stored.url = "http://one.test/\(number)"
        return stored
    }

    private func entry(_ head: StoredHead, _ body: ResponseIndex.Body = .memory([]), cost: Int) -> ResponseIndex.Entry {
        ResponseIndex.Entry(head, body, bodyLength: 0, cost: cost)
    }

    private func find(_ number: Int, in index: inout ResponseIndex, at now: Int64 = arrival) -> ResponseIndex.Entry? {
        var removed: [ResponseIndex.Entry] = []
        let variants = index.responses("http://one.test/\(number)", "", at: now, removed: &removed)
        let entry = request.newest(of: variants, at: now) { _ in true }
        entry?.noteUse()
        return entry
    }

    @Test("An older response that arrives late does not replace a newer one")
    func overtaken() {
        var index = index()
        func sent(_ time: Int64, _ byte: UInt8) -> ResponseIndex.Entry {
            var head = stored(1)
            head.requestTime = arrival + time
            return entry(head, .memory([byte]), cost: 10)
        }
        _ = index.insert(sent(5, 1), at: arrival + 6)
        #expect(index.insert(sent(4, 2), at: arrival + 6).map(\.body) == [.memory([2])])
        #expect(find(1, in: &index)?.body == .memory([1]) && index.bytes == 10 && index.count == 1)
        // After the clock was set back, the stored one is from the future.
        #expect(index.insert(sent(4, 3), at: arrival + 4).map(\.body) == [.memory([1])])
        #expect(find(1, in: &index)?.body == .memory([3]))
        // Another variant is another response.
        var variant = stored(1)
        (variant.requestTime, variant.vary) = (arrival, VaryFields([VaryFields.Field(name: "accept", value: "x")]))
        #expect(index.insert(entry(variant, cost: 10), at: arrival + 6).isEmpty)
    }

    @Test("A variant that the request may not get gives way to another one that fits")
    func otherVariant() {
        var (index, removed) = (index(), [ResponseIndex.Entry]())
        var newer = stored(1)
        newer.responseTime = arrival + 1
        newer.vary = VaryFields([VaryFields.Field(name: "accept", value: nil)])
        _ = index.insert(entry(stored(1), .memory([1]), cost: 1), at: arrival + 1)
        _ = index.insert(entry(newer, .memory([2]), cost: 1), at: arrival + 1)
        #expect(find(1, in: &index, at: arrival + 1)?.body == .memory([2]))
        let variants = index.responses("http://one.test/1", "", at: arrival + 1, removed: &removed)
        let other = request.newest(of: variants, at: arrival + 1) { $0.responseTime == arrival }
        #expect(other?.body == .memory([1]) && removed.isEmpty)
    }

    @Test("Entries that are too old are removed after a bounded number of insertions")
    func expiry() {
        var index = index(bytes: 1 << 20, entries: 1000)
        for number in 0..<100 { _ = index.insert(entry(stored(number), cost: 1)) }
        let insertions = (100 + ResponseIndex.checkedSlots - 1) / ResponseIndex.checkedSlots
        var removed: [ResponseIndex.Entry] = []
        for number in 0..<insertions {
            var new = stored(1000 + number)
            new.responseTime = arrival + 1001
            removed += index.insert(entry(new, cost: 1), at: arrival + 1001)
        }
        #expect(removed.count == 100 && index.count == insertions && index.bytes == insertions)
        #expect(index.removeExpired(at: arrival + 2001).isEmpty)
        #expect(index.removeExpired(at: arrival + 2002).count == insertions && index.count == 0 && index.bytes == 0)
    }

    @Test("Bytes and entries stay within their limits, and used entries stay longer")
    func eviction() {
        var index = index()
        for number in 0..<10 { _ = index.insert(entry(stored(number), cost: 100)) }
        for number in 0..<5 { #expect(find(number, in: &index) != nil) }
        let removed = (10..<15).flatMap { index.insert(entry(stored($0), cost: 100)) }
        #expect(Set(removed.map(\.head.url)) == Set((5..<10).map { "http://one.test/\($0)" }))
        #expect(index.bytes == 1000 && index.count == 10)
        var few = self.index(entries: 3)
        for number in 0..<10 {
            _ = few.insert(entry(stored(number), cost: 1))
            #expect(few.count <= 3)
        }
    }

    @Test("A longer head counts towards the limit, and an older one does not come back")
    func longerHead() throws {
        var index = index()
        let entries = (0..<2).map { entry(stored($0), cost: 400) }
        for entry in entries { _ = index.insert(entry) }
        #expect(find(0, in: &index) != nil)
        func longer(_ count: Int) throws -> StoredHead {
            var fields: HTTPFields = [:]
            fields[try #require(HTTPField.Name("x"))] = String(repeating: "x", count: count)
            return stored(0).with(fields, requestTime: arrival, responseTime: arrival)
        }
        let head = try longer(300)
        #expect(index.update(entries[0].id, head)?.map(\.head.url) == ["http://one.test/1"])
        #expect(index.bytes == 400 + head.size - stored(0).size && index.bytes > 700)
        #expect(try index.update(entries[0].id, stored(0), in: longer(1)) == nil)
        #expect(index.update(entries[0].id, stored(0), in: head)?.isEmpty == true && index.bytes == 400)
        // One that is longer than the limit is not kept.
        #expect(try index.update(entries[0].id, longer(2000))?.count == 1 && index.bytes == 0)
    }

    @Test("The newer response replaces the one for the same requests")
    func replacing() {
        var index = index()
        _ = index.insert(entry(stored(1), .memory([1]), cost: 10))
        let removed = index.insert(entry(stored(1), .memory([2]), cost: 20))
        #expect(removed.map(\.body) == [.memory([1])])
        #expect(index.bytes == 20 && find(1, in: &index)?.body == .memory([2]))
    }

    @Test("An entry that is too old is not found, and one over the limit is not added")
    func bounds() {
        var index = index()
        _ = index.insert(entry(stored(1), cost: 10))
        #expect(find(1, in: &index, at: arrival + 1000) != nil)
        #expect(find(1, in: &index, at: arrival + 1001) == nil && index.count == 0)
        #expect(index.insert(entry(stored(2), cost: 1001)).count == 1)
        #expect(index.count == 0 && index.bytes == 0)
    }

    @Test("A response from the future is found after others, and not beyond the age limit")
    func future() {
        var index = index()
        var early = stored(1)
        early.responseTime = arrival + 500
        early.vary = VaryFields([VaryFields.Field(name: "accept", value: nil)])
        _ = index.insert(entry(early, .memory([1]), cost: 10))
        #expect(find(1, in: &index)?.body == .memory([1]))
        _ = index.insert(entry(stored(1), .memory([2]), cost: 10))
        #expect(find(1, in: &index)?.body == .memory([2]))
        #expect(find(1, in: &index, at: arrival + 500)?.body == .memory([1]))
        #expect(find(1, in: &index, at: arrival - 501)?.body == .memory([2]) && index.count == 1)
        #expect(find(1, in: &index, at: arrival - 1001) == nil && index.count == 0)
    }

    @Test("All variants and partitions of a URL are removed, and no other URL is")
    func removingURL() {
        var index = index()
        for partition in ["", "a", "b"] {
            for value in ["de", "en"] {
                var variant = stored(1)
                variant.partition = partition
                variant.vary = VaryFields([VaryFields.Field(name: "accept-language", value: value)])
                _ = index.insert(entry(variant, cost: 10))
            }
        }
        _ = index.insert(entry(stored(2), cost: 10))
        #expect(index.removeAll(url: "http://one.test/1").count == 6)
        #expect(index.count == 1 && index.bytes == 10 && find(2, in: &index) != nil)
    }

    /// The number of variants bounds the work of a search.
    @Test("The number of variants in a partition is bounded, and the oldest goes first")
    func variants() {
        var index = index(bytes: 1 << 20, entries: 10_000)
        var removed: [String?] = []
        for number in 0..<ResponseIndex.maximumVariants + 3 {
            for partition in ["", "other"] {
                var variant = stored(1)
                variant.partition = partition
                variant.vary = VaryFields([VaryFields.Field(name: "accept-language", value: "\(number)")])
                removed += index.insert(entry(variant, cost: 1)).map { $0.head.vary.fields[0].value }
            }
        }
        #expect(removed == ["0", "0", "1", "1", "2", "2"])
        #expect(index.count == 2 * ResponseIndex.maximumVariants)
        var german = request
        german.fields[.acceptLanguage] = "3"
        var expired: [ResponseIndex.Entry] = []
        let variants = index.responses("http://one.test/1", "other", at: arrival, removed: &expired)
        let found = german.newest(of: variants, at: arrival) { _ in true }
        #expect(found?.head.vary.fields.first?.value == "3" && found?.head.partition == "other")
    }

    @Test("Bytes are reserved before they are stored, and never beyond the limit")
    func reservation() {
        var index = index()
        for number in 0..<10 { _ = index.insert(entry(stored(number), cost: 100)) }
        #expect(index.reserve(250)?.count == 3)
        #expect(index.bytes + index.reserved == 950)
        #expect(index.reserve(751) == nil)
        index.release(250)
        #expect(index.reserved == 0 && index.bytes == 700)
    }
}

extension ResponseIndex {
    /// Inserts an entry at the time of the tests' responses.
    fileprivate mutating func insert(_ entry: Entry) -> [Entry] { insert(entry, at: arrival) }
}
