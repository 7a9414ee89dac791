// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSMessages
internal import HTTPDNSPrimitives

/// The body of a JSON DNS response, as Google, Cloudflare and Alidns send it: the response of RFC 1035 in JSON syntax.
///
/// No standard describes it (RFC 8427 is another form). It is interpreted by the same rules as a wire message, see
/// ``DNSResponse/outcome(_:failure:)``. Decisions for cases that JSON leaves open:
///
/// - `Status` is required; `Question` too, unless `Status` reports that the query failed. It is an object, or a list of one.
/// - `Answer` and `Authority` are lists; null and missing ones are empty.
/// - A record of type A, AAAA or CNAME in `Answer` must have the data of its type, whether it is used or not. Otherwise the
///   whole response is refused. Records of other types are skipped; an SOA that cannot be parsed is ignored.
/// - A `TTL` is a number: a fraction is truncated, a negative one is 0, one beyond 32 bits is the maximum. Any other value, and
///   a missing one, is 0: the record then serves only the queries that wait for it.
package struct JSONDNSMessage: Sendable {
    private let root: JSONValue
    private let status: DNSResponseCode

    /// Parses the text and its `Status`.
    package init(parsing body: [UInt8]) throws(JSONDNSError) {
        do throws(JSONError) {
            root = try JSONReader.read(body)
        } catch {
            throw JSONDNSError(.notJSON, error.description)
        }
        guard case .object = root else { throw JSONDNSError(.wrongType, "it is \(root.kind), and no object") }
        guard let status = root["Status"]?.uint16 else {
            throw JSONDNSError(.wrongType, "\"Status\" is \(Self.kind(root["Status"])); it must be a response code")
        }
        self.status = DNSResponseCode(number: status)
    }

    /// The service's own message, such as the reason for a failure (`Comment`, a string or a list of them).
    package var comment: String? {
        switch root["Comment"] {
        case .string(let text): text.isEmpty ? nil : text
        case .array(let parts):
            parts.compactMap(\.text).isEmpty ? nil : parts.compactMap(\.text).joined(separator: "; ")
        default: nil
        }
    }

    /// Returns the records as the response to `question`.
    package func response(to question: DNSQuestion) throws(JSONDNSError) -> DNSResponse {
        guard root["TC"] != .bool(true) else {
            throw JSONDNSError(.truncated, "the service cut it (\"TC\" is true)")
        }
        try checkQuestion(question)
        var answers: [DNSRecord] = []
        for element in try elements("Answer") {
            if let record = try Self.answer(element, wanted: question.type) { answers.append(record) }
        }
        let authorities = try elements("Authority").compactMap(Self.startOfAuthority)
        return DNSResponse(to: question, responseCode: status, answers: answers, authorities: authorities)
    }

    private func checkQuestion(_ expected: DNSQuestion) throws(JSONDNSError) {
        let found: JSONValue
        switch root["Question"] {
        case .object(let members)?: found = .object(members)
        case .array(let elements)? where elements.count == 1: found = elements[0]
        case nil, .null?:
            if status != .noError, status != .nameError { return }
            fallthrough
        default:
            throw JSONDNSError(
                .wrongQuestion,
                "\"Question\" is \(Self.kind(root["Question"])); it must be the one question"
            )
        }
        guard let name = found["name"]?.text.flatMap(DNSName.init(presentation:)),
            let type = found["type"]?.uint16
        else { throw JSONDNSError(.wrongQuestion, "\"Question\" has no name, or no type") }
        guard name == expected.name, type == expected.type.number else {
            throw JSONDNSError(
                .wrongQuestion,
                "it answers \(name) \(DNSRecordType(number: type)), asked was \(expected)"
            )
        }
    }

    private func elements(_ key: String) throws(JSONDNSError) -> [JSONValue] {
        switch root[key] {
        case .array(let elements)?: return elements
        case nil, .null?: return []
        case .some(let other): throw JSONDNSError(.wrongType, "\"\(key)\" is \(other.kind); it must be a list")
        }
    }

    private static func kind(_ value: JSONValue?) -> String { value?.kind ?? "missing" }
}

// MARK: - Records

extension JSONDNSMessage {
    /// Returns a record of the answer; nil for one that is not relevant.
    private static func answer(_ element: JSONValue, wanted: DNSRecordType) throws(JSONDNSError) -> DNSRecord? {
        guard let owner = element["name"]?.text.flatMap(DNSName.init(presentation:)),
            let number = element["type"]?.uint16
        else { throw JSONDNSError(.badRecord, "an element of \"Answer\" has no name, or no type") }
        let type = DNSRecordType(number: number)
        guard type == .a || type == .aaaa || type == .cname else { return nil }
        guard let data = element["data"]?.text else {
            throw JSONDNSError(.badRecord, "the data of a \(type) record is \(kind(element["data"]))")
        }
        let content: DNSRecord.Content
        if type == .cname {
            guard let target = DNSName(presentation: data) else {
                throw JSONDNSError(.badRecord, "the data of a CNAME record is no name")
            }
            content = .alias(target)
        } else {
            guard let address = HTTPDNSAddress(data), DNSRecordType(of: address.family) == type else {
                throw JSONDNSError(.badRecord, "the data of a record of type \(type) is no address of its family")
            }
            guard type == wanted else { return nil }
            content = .address(address)
        }
        return DNSRecord(owner: owner, timeToLive: seconds(element["TTL"]), content: content)
    }

    /// Returns the SOA in an element of `Authority`; nil when it is none.
    private static func startOfAuthority(_ element: JSONValue) -> DNSRecord? {
        guard let owner = element["name"]?.text.flatMap(DNSName.init(presentation:)),
            element["type"]?.uint16 == DNSRecordType.soa.number, let data = element["data"]?.text
        else { return nil }
        // MNAME, RNAME, SERIAL, REFRESH, RETRY, EXPIRE, MINIMUM (RFC 1035 section 3.3.13).
        let fields = data.split(separator: " ")
        guard fields.count == 7, let minimum = UInt32(fields[6]) else { return nil }
        return DNSRecord(
            owner: owner,
            timeToLive: seconds(element["TTL"]),
            content: .startOfAuthority(minimum: minimum)
        )
    }

    /// Returns a `TTL` in seconds, for any value.
    private static func seconds(_ value: JSONValue?) -> UInt32 {
        guard case .number(let number)? = value, number > 0 else { return 0 }
        return number < Double(UInt32.max) ? UInt32(number) : .max
    }
}

/// An error in the body of a JSON DNS response. The whole response is refused, whichever part is wrong.
package struct JSONDNSError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: String, Hashable, Sendable, CaseIterable {
        /// The bytes are no JSON text, see ``JSONReader``.
        case notJSON
        /// A value has another type than required, or is missing.
        case wrongType
        /// The question differs from the query, or there is not exactly one.
        case wrongQuestion
        /// `TC` is true, although no response is too long for HTTP.
        case truncated
        /// A record without name, type or the data of its type.
        case badRecord
    }

    package let code: Code
    /// The finding, and the allowed values.
    package let reason: String

    package init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }

    package var description: String { "JSON DNS answer refused: \(reason)" }
}
