// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS

/// The rules of HAR 1.2 about members, as the published schema (har-schema 2.0.0) and the specification have them.
enum ArchiveRules {
    enum Kind: Sendable {
        case text, integer, number, list, object
        /// A time in ISO 8601 with a time zone.
        case date
        /// An address of IPv4 or IPv6.
        case address
        /// A number that is not negative.
        case size
        /// A number that is not negative, or -1.
        case sizeOrUnknown
    }

    struct Rule: Sendable {
        /// The path of an object; `*` stands for each element of a list.
        var path: String
        var required: [String: Kind]
        var optional: [String: Kind] = [:]
    }

    private static let pair = ["name": Kind.text, "value": .text]

    static let rules = [
        Rule(path: "", required: ["log": .object]),
        Rule(
            path: "log",
            required: ["version": .text, "creator": .object, "entries": .list],
            optional: ["browser": .object, "pages": .list, "comment": .text]
        ),
        Rule(path: "log.creator", required: ["name": .text, "version": .text], optional: ["comment": .text]),
        Rule(
            path: "log.entries.*",
            required: [
                "startedDateTime": .date, "time": .size, "request": .object, "response": .object, "cache": .object,
                "timings": .object,
            ],
            optional: ["pageref": .text, "serverIPAddress": .address, "connection": .text, "comment": .text]
        ),
        Rule(
            path: "log.entries.*.request",
            required: [
                "method": .text, "url": .text, "httpVersion": .text, "cookies": .list, "headers": .list,
                "queryString": .list, "headersSize": .sizeOrUnknown, "bodySize": .sizeOrUnknown,
            ],
            optional: ["postData": .object, "comment": .text]
        ),
        Rule(path: "log.entries.*.request.headers.*", required: pair, optional: ["comment": .text]),
        Rule(path: "log.entries.*.request.queryString.*", required: pair, optional: ["comment": .text]),
        Rule(
            path: "log.entries.*.request.postData",
            required: ["mimeType": .text, "text": .text],
            optional: ["comment": .text]
        ),
        Rule(
            path: "log.entries.*.response",
            required: [
                "status": .integer, "statusText": .text, "httpVersion": .text, "cookies": .list, "headers": .list,
                "content": .object, "redirectURL": .text, "headersSize": .sizeOrUnknown, "bodySize": .sizeOrUnknown,
            ],
            optional: ["comment": .text]
        ),
        Rule(path: "log.entries.*.response.headers.*", required: pair, optional: ["comment": .text]),
        Rule(
            path: "log.entries.*.response.content",
            required: ["size": .size, "mimeType": .text],
            optional: ["compression": .integer, "text": .text, "encoding": .text, "comment": .text]
        ),
        Rule(
            path: "log.entries.*.cache",
            required: [:],
            optional: ["beforeRequest": .object, "afterRequest": .object]
        ),
        Rule(
            path: "log.entries.*.timings",
            required: ["send": .size, "wait": .size, "receive": .size],
            optional: [
                "blocked": .sizeOrUnknown, "dns": .sizeOrUnknown, "connect": .sizeOrUnknown, "ssl": .sizeOrUnknown,
            ]
        ),
    ]

    /// Returns the violations of the rules, each with its path.
    static func violations(of bytes: [UInt8]) -> [String] {
        guard let root = CodableJSON(bytes) else { return ["no JSON"] }
        return rules.flatMap { rule in
            objects(rule.path.split(separator: ".")[...], in: root).flatMap { violations(of: $0, by: rule) }
        }
    }

    private static func objects(_ path: ArraySlice<Substring>, in value: CodableJSON) -> [CodableJSON] {
        guard let name = path.first else { return [value] }
        switch value {
        case .list(let elements) where name == "*": return elements.flatMap { objects(path.dropFirst(), in: $0) }
        case .object(let members): return members[String(name)].map { objects(path.dropFirst(), in: $0) } ?? []
        default: return []
        }
    }

    private static func violations(of value: CodableJSON, by rule: Rule) -> [String] {
        guard case .object(let members) = value else { return ["\(rule.path) is no object"] }
        var found = rule.required.keys.filter { members[$0] == nil }.map { "\(rule.path).\($0) is missing" }
        for (name, value) in members where !name.hasPrefix("_") {
            guard let kind = rule.required[name] ?? rule.optional[name] else {
                found.append("\(rule.path).\(name) is unknown")
                continue
            }
            if !fits(value, kind) { found.append("\(rule.path).\(name) is no \(kind): \(value)") }
        }
        return found
    }

    private static func fits(_ value: CodableJSON, _ kind: Kind) -> Bool {
        let number: Double? =
            switch value {
            case .integer(let number): Double(number)
            case .number(let number): number
            default: nil
            }
        switch (kind, value) {
        case (.text, .text), (.list, .list), (.object, .object), (.integer, .integer): return true
        case (.date, .text(let text)): return (try? dates().wholeMatch(in: text)) != nil
        case (.address, .text(let text)): return HTTPDNSAddress(text) != nil
        case (.number, _): return number != nil
        case (.size, _): return number.map { $0 >= 0 } ?? false
        case (.sizeOrUnknown, _): return number.map { $0 >= 0 || $0 == -1 } ?? false
        default: return false
        }
    }

    private static func dates() throws -> Regex<AnyRegexOutput> {
        try Regex(#"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:?\d{2})"#)
    }
}
