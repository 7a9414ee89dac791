// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

@testable internal import HTTPDNSCore
@testable internal import HTTPDNSMessages

extension FuzzTarget {
    /// JSON DNS answers, and the JSON texts they are made of. The question is taken from the text, so that its echo seldom
    /// ends the reading.
    static let jsonDNS = FuzzTarget(name: "json-dns") { octets in
        do throws(JSONError) {
            let value = try JSONReader.read(octets)
            precondition(depth(of: value) <= JSONReader.maximumDepth)
            // A value that was cut, or followed by another, is none: only blanks and digits may come or go.
            precondition((try? JSONReader.read(octets + [UInt8(ascii: "}")])) == nil)
        } catch {
            precondition(isOneLine(error.description), "an error is one line of ASCII")
            precondition((try? JSONDNSMessage(parsing: octets)) == nil)
            return
        }
        let question = question(in: octets)
        do {
            let response = try JSONDNSMessage(parsing: octets).response(to: question)
            check(try response.outcome(freshness, failure: failure), question)
        } catch {
            precondition(isOneLine("\(error)"), "an error is one line of ASCII")
        }
    }

    private static func question(in octets: [UInt8]) -> DNSQuestion {
        guard let root = try? JSONReader.read(octets) else { return DNSQuestion(name: .root, type: .a) }
        var question = root["Question"]
        if case .array(let elements)? = question { question = elements.first }
        let name = question?["name"]?.text.flatMap(DNSName.init(presentation:)) ?? .root
        return DNSQuestion(name: name, type: question?["type"]?.uint16 == DNSRecordType.aaaa.number ? .aaaa : .a)
    }

    private static func depth(of value: JSONValue) -> Int {
        switch value {
        case .array(let elements): 1 + (elements.map(depth).max() ?? 0)
        case .object(let members): 1 + (members.values.map(depth).max() ?? 0)
        default: 0
        }
    }
}
