internal import HTTPDNSMessages
internal import HTTPDNSPrimitives

/// The parser for answers of version 1: an object about one name, or a list of them under `dns`.
///
/// The list has two forms: one element for each name, with `ips` and `ipsv6`; or one element for each name and record `type`,
/// where elements of type 28 have IPv6 addresses in `ips`. Both forms are read, also mixed: the elements of one name are
/// merged.
///
/// `ttl` is the remaining life of the vendor's answer. `origin_ttl`, its original life, is never used: it would keep an
/// answer beyond its time.
enum AlibabaV1Answer {
    /// The lists found for one name so far; `nil` for a list that is missing.
    private struct Lists {
        var v4: [String]?
        var v6: [String]?
        var seconds: Double?

        mutating func add(_ element: JSONValue) {
            let isV6Row = element["type"]?.uint16 == DNSRecordType.aaaa.number
            if let texts = element["ips"]?.texts {
                if isV6Row { v6 = (v6 ?? []) + texts } else { v4 = (v4 ?? []) + texts }
            }
            if let texts = element["ipsv6"]?.texts { v6 = (v6 ?? []) + texts }
            if let life = element["ttl"]?.finiteNumber { seconds = min(seconds ?? life, life) }
        }

        /// Returns the answer. A list that is missing beside another one counts as empty; with no list at all there is no
        /// answer.
        func answer(_ families: HTTPDNSAddress.Families) -> HTTPDNSProviderAnswer? {
            guard v4 != nil || v6 != nil else { return nil }
            var answer = HTTPDNSProviderAnswer()
            if families.contains(.v4) { answer.v4 = VendorAnswer.family(.v4, v4 ?? [], seconds: seconds) }
            if families.contains(.v6) { answer.v6 = VendorAnswer.family(.v6, v6 ?? [], seconds: seconds) }
            return answer
        }
    }

    /// Returns the answers in a body for the names of the query.
    static func read(
        _ body: [UInt8],
        question: VendorQuery
    ) throws(VendorAnswerError) -> [HTTPDNSName: HTTPDNSProviderAnswer] {
        let root = try VendorAnswer.object(body)
        let elements: [JSONValue]
        switch root["dns"] {
        case .array(let list)?: elements = list
        case nil: elements = [root]
        case .some(let other): throw VendorAnswerError("\"dns\" is \(other.kind); it must be a list")
        }
        let asked = Set(question.hosts)
        var lists: [HTTPDNSName: Lists] = [:]
        for element in elements {
            guard let host = element["host"]?.text.flatMap({ try? HTTPDNSName($0) }), asked.contains(host) else {
                continue
            }
            lists[host, default: Lists()].add(element)
        }
        let answers = lists.compactMapValues { $0.answer(question.families) }
        guard !answers.isEmpty else {
            throw VendorAnswerError("it says nothing about the names that were asked for")
        }
        return answers
    }
}
