// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSPrimitives

/// The parser for answers: a line for each name, `www.example.com.:192.0.2.4;192.0.2.5,120-2001:db8::4,60`, and after the
/// last one `|` and the client's address.
///
/// A list is `0` or empty when the family has no addresses; a line with only a name has neither family. The query requests
/// the client's address because it comes last: without it a truncated text looks complete.
enum TencentAnswer {
    /// Returns the answers in a body for the names of the query.
    /// - Parameter body: The body, decrypted if it was encrypted.
    static func read(
        _ body: [UInt8],
        question: VendorQuery
    ) throws(VendorAnswerError) -> [HTTPDNSName: HTTPDNSProviderAnswer] {
        let text = try TencentText.text(body)
        guard let end = text.lastIndex(of: "|"), HTTPDNSAddress(String(text[text.index(after: end)...])) != nil else {
            throw VendorAnswerError(
                "it does not end with the client's address: it was cut off, or is no answer",
                isText: false
            )
        }
        // In Swift CR LF is one character.
        let lines = text[..<end].split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        let asked = Set(question.hosts)
        var answers: [HTTPDNSName: HTTPDNSProviderAnswer] = [:]
        for line in lines {
            let (name, lists) = parts(of: line)
            var host = name.flatMap { try? HTTPDNSName(String($0)) }
            // A line without a name is about the single name of the query.
            if name == nil, question.hosts.count == 1, lines.count == 1 { host = question.hosts.first }
            guard let host, asked.contains(host) else { continue }
            let answer = answer(lists, question.families)
            guard answers.updateValue(answer, forKey: host) == nil else {
                throw VendorAnswerError("it answers about one name twice")
            }
        }
        guard !answers.isEmpty else {
            throw VendorAnswerError("it says nothing about the names that were asked for")
        }
        return answers
    }

    /// Returns a line's name, `nil` where it has none, and its lists.
    private static func parts(of line: Substring) -> (name: Substring?, lists: Substring) {
        var index = line.startIndex
        while let dot = line[index...].firstIndex(of: ".") {
            index = line.index(after: dot)
            if index < line.endIndex, line[index] == ":" {
                return (line[..<dot], line[line.index(after: index)...])
            }
        }
        // A line with only a name means that the service found nothing.
        return (try? HTTPDNSName(String(line))) == nil ? (nil, line) : (line, "")
    }

    private static func answer(_ lists: Substring, _ families: HTTPDNSAddress.Families) -> HTTPDNSProviderAnswer {
        let lists = lists.split(separator: "-", omittingEmptySubsequences: false)
        guard families == .both else {
            let family: HTTPDNSAddress.Family = families == .v4 ? .v4 : .v6
            let outcome = lists.count == 1 ? outcome(family, lists[0]) : unreadable("it has lists of several families")
            return family == .v4 ? HTTPDNSProviderAnswer(v4: outcome) : HTTPDNSProviderAnswer(v6: outcome)
        }
        switch lists.count {
        case 2:
            return HTTPDNSProviderAnswer(v4: outcome(.v4, lists[0]), v6: outcome(.v6, lists[1]))
        case 1:
            let v4 = outcome(.v4, lists[0])
            if case .noData = v4 { return HTTPDNSProviderAnswer(v4: v4, v6: v4) }
            return HTTPDNSProviderAnswer(v4: v4, v6: unreadable("it has one list, where both families were asked for"))
        default:
            let outcome = unreadable("it has more lists than there are families")
            return HTTPDNSProviderAnswer(v4: outcome, v6: outcome)
        }
    }

    /// Returns the outcome in a list such as `192.0.2.4;192.0.2.5,120`.
    private static func outcome(_ family: HTTPDNSAddress.Family, _ list: Substring) -> HTTPDNSProviderAnswer.Family {
        let parts = list.split(separator: ",", omittingEmptySubsequences: false)
        var seconds: Double?
        if parts.count > 1 {
            guard parts.count == 2, let number = TencentText.number(parts[1]) else {
                return unreadable("the time to live of its list for \(family.recordType) is no number")
            }
            seconds = Double(number)
        }
        let texts = parts[0].split(separator: ";").map(String.init)
        return HTTPDNSProviderAnswer.Family(family, list: texts == ["0"] ? [] : texts, seconds: seconds)
    }

    private static func unreadable(_ message: String) -> HTTPDNSProviderAnswer.Family {
        .failed(HTTPDNSProviderError(code: .badResponse, message: message))
    }
}

/// The service's answers as text, in lines of printable ASCII.
enum TencentText {
    /// Returns the text of a body.
    /// - Throws: ``VendorAnswerError`` when it has other characters: the body is of another kind, or was decrypted with the
    ///   wrong key.
    static func text(_ body: [UInt8]) throws(VendorAnswerError) -> Substring {
        let octets = withoutLineEnd(body[...])
        guard octets.allSatisfy({ (0x20...0x7e).contains($0) || isLineEnd($0) }) else {
            throw VendorAnswerError("it has other characters than the vendor's answers have", isText: false)
        }
        return String(decoding: octets, as: UTF8.self)[...]
    }

    static func withoutLineEnd(_ octets: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        octets.dropLast(octets.reversed().prefix(while: isLineEnd).count)
    }

    private static func isLineEnd(_ octet: UInt8) -> Bool { octet == 0x0a || octet == 0x0d }

    /// Returns the number in `text`, of up to ten digits; `nil` for anything else.
    static func number(_ text: Substring) -> Int64? {
        text.utf8.count <= 10 ? Int64(digits: text) : nil
    }
}
