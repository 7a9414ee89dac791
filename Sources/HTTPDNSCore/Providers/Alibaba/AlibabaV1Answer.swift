internal import HTTPDNSMessages
internal import HTTPDNSPrimitives

/// The answers of version 1: an object about one name, or a list of them under `dns`.
///
/// Of the list there are two forms: one element for each name with `ips` and `ipsv6`, or one for each name and `type` of
/// record, where those of type 28 have their IPv6 addresses in `ips`. Both are read, also mixed: what the elements of one
/// name say is put together.
///
/// `ttl` is what is left of the answer's life at the vendor. `origin_ttl`, what it had at first, is never used: it would
/// keep an answer beyond its time.
enum AlibabaV1Answer {
    /// What has been said about one name up to now; nil where nothing was.
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

        /// A list that is missing beside another one is an empty one. With no list at all nothing was said.
        func answer(_ families: HTTPDNSAddress.Families) -> HTTPDNSProviderAnswer? {
            guard v4 != nil || v6 != nil else { return nil }
            var answer = HTTPDNSProviderAnswer()
            if families.contains(.v4) { answer.v4 = VendorAnswer.family(.v4, v4 ?? [], seconds: seconds) }
            if families.contains(.v6) { answer.v6 = VendorAnswer.family(.v6, v6 ?? [], seconds: seconds) }
            return answer
        }
    }

    /// What a body says about the names of the question.
    static func read(
        _ body: [UInt8],
        question: VendorQuestion
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
