// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPTypes

/// The directives of the `Cache-Control` fields of a message (RFC 9111 section 5.2).
struct CacheControl: Hashable, Sendable {
    /// The largest number of seconds; a larger one counts as this one (RFC 9111 section 1.2.2).
    static let maximumSeconds: Int64 = 2_147_483_648

    /// A directive with a number of seconds.
    enum Seconds: Hashable, Sendable {
        case value(Int64)
        /// The value is missing or is not a number.
        case invalid

        /// The number; an invalid one counts as 0, so that the response is stale (RFC 9111 section 4.2.1).
        var orZero: Int64 {
            switch self {
            case .value(let seconds): seconds
            case .invalid: 0
            }
        }
    }

    /// Whether there is a directive at all.
    private(set) var isPresent = false
    private(set) var isNoStore = false
    /// Whether the response must be validated before each use. A `no-cache` with field names counts as one without.
    private(set) var isNoCache = false
    /// Whether the response is for one user. A `private` with field names counts as one without.
    private(set) var isPrivate = false
    private(set) var isPublic = false
    private(set) var mustRevalidate = false
    private(set) var proxyRevalidate = false
    private(set) var mustUnderstand = false
    private(set) var isImmutable = false
    private(set) var onlyIfCached = false
    private(set) var maximumAge: Seconds?
    private(set) var sharedMaximumAge: Seconds?
    private(set) var minimumFresh: Seconds?
    /// The staleness that a request accepts; `.value(.max)` for any.
    private(set) var maximumStale: Seconds?
    private(set) var staleWhileRevalidate: Seconds?
    private(set) var staleIfError: Seconds?

    init() {}

    /// Reads the directives of all `Cache-Control` fields. Names are compared without case, and unknown ones are ignored.
    init(_ fields: HTTPFields) {
        for field in fields[values: .cacheControl] {
            for directive in Self.directives(in: field) { take(directive.name, directive.value) }
        }
    }

    private mutating func take(_ name: String, _ value: String?) {
        isPresent = true
        switch name {
        case "no-store": isNoStore = true
        case "no-cache": isNoCache = true
        case "private": isPrivate = true
        case "public": isPublic = true
        case "must-revalidate": mustRevalidate = true
        case "proxy-revalidate": proxyRevalidate = true
        case "must-understand": mustUnderstand = true
        case "immutable": isImmutable = true
        case "only-if-cached": onlyIfCached = true
        case "max-age": maximumAge = Self.smaller(maximumAge, Self.seconds(value))
        case "s-maxage": sharedMaximumAge = Self.smaller(sharedMaximumAge, Self.seconds(value))
        case "min-fresh": minimumFresh = Self.seconds(value)
        case "max-stale": maximumStale = value == nil ? .value(.max) : Self.seconds(value)
        case "stale-while-revalidate": staleWhileRevalidate = Self.smaller(staleWhileRevalidate, Self.seconds(value))
        case "stale-if-error": staleIfError = Self.smaller(staleIfError, Self.seconds(value))
        default: break
        }
    }

    /// Returns the value of a directive that is there twice: the shorter time is the safe one.
    private static func smaller(_ old: Seconds?, _ new: Seconds) -> Seconds {
        guard let old else { return new }
        return new.orZero < old.orZero ? new : old
    }

    private static func seconds(_ value: String?) -> Seconds {
        value.flatMap(seconds).map(Seconds.value) ?? .invalid
    }

    /// Returns a number of seconds; nil for a text that is not of digits alone.
    static func seconds(_ text: String) -> Int64? {
        guard !text.isEmpty else { return nil }
        var value: Int64 = 0
        for byte in text.utf8 {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
            value = min(value * 10 + Int64(byte - UInt8(ascii: "0")), maximumSeconds)
        }
        return value
    }

    /// Splits a field at the commas outside quotes. A name is in lower case, and a value is without its quotes.
    private static func directives(in field: String) -> [(name: String, value: String?)] {
        ListElements(field).compactMap { element in
            guard let equals = element.firstIndex(of: "=") else { return (element.lowercased(), nil) }
            let value = element[element.index(after: equals)...]
            return (element[..<equals].lowercased(), unquoted(value))
        }
    }

    private static func unquoted(_ value: Substring) -> String {
        guard value.utf8.count >= 2, value.hasPrefix("\""), value.hasSuffix("\"") else { return String(value) }
        var text = ""
        var isEscaped = false
        for character in value.dropFirst().dropLast() {
            if character == "\\", !isEscaped {
                isEscaped = true
            } else {
                isEscaped = false
                text.append(character)
            }
        }
        return text
    }
}

/// The elements of a field whose value is a list (RFC 9110 section 5.6.1), without the blanks around them and without empty
/// ones. A comma in quotes does not end an element.
struct ListElements: Sequence {
    private let elements: [String]

    init(_ field: String) {
        var elements: [String] = []
        var current: [UInt8] = []
        var (isQuoted, isEscaped) = (false, false)
        for byte in field.utf8 {
            if byte == UInt8(ascii: ","), !isQuoted {
                elements.append(Self.trimmed(current))
                current = []
                continue
            }
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\\"), isQuoted {
                isEscaped = true
            } else if byte == UInt8(ascii: "\"") {
                isQuoted.toggle()
            }
            current.append(byte)
        }
        elements.append(Self.trimmed(current))
        self.elements = elements.filter { !$0.isEmpty }
    }

    func makeIterator() -> Array<String>.Iterator { elements.makeIterator() }

    private static func trimmed(_ bytes: [UInt8]) -> String {
        let isBlank = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        var rest = bytes.drop(while: isBlank)
        while let last = rest.last, isBlank(last) { rest.removeLast() }
        return String(decoding: rest, as: UTF8.self)
    }
}
