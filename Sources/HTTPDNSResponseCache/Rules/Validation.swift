// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// Conditional requests, and what their responses change (RFC 9111 section 4.3).
enum Validation {
    /// Returns the fields that ask whether a stored response is still valid; empty when it has no validator.
    static func conditions(for head: StoredHead) -> HTTPFields {
        var fields: HTTPFields = [:]
        if let tag = head.fields.entityTag {
            tag.withUnsafeBytesOfValue { bytes in
                fields.append(HTTPField(name: .ifNoneMatch, lenientValue: Array(bytes)))
            }
        }
        if let modified = head.fields.singleton(.lastModified) {
            modified.withUnsafeBytesOfValue { bytes in
                fields.append(HTTPField(name: .ifModifiedSince, lenientValue: Array(bytes)))
            }
        }
        return fields
    }

    /// Returns the head that a 304 response makes of a stored one; nil when the response is about another representation.
    /// - Parameters:
    ///   - requestTime: Milliseconds since 1970.
    ///   - responseTime: Milliseconds since 1970.
    static func updated(_ head: StoredHead, by fields: HTTPFields, requestTime: Int64, responseTime: Int64)
        -> StoredHead?
    {
        guard identifies(fields, head) else { return nil }
        return merged(head, fields, requestTime: requestTime, responseTime: responseTime)
    }

    /// Whether the validators of a 304 response are those of a stored response (RFC 9111 section 4.3.4). A response without any
    /// is about the validators that were sent.
    private static func identifies(_ fields: HTTPFields, _ head: StoredHead) -> Bool {
        let tags = fields[fields: .eTag].map(\.text)
        let hasSameDate = agree(on: .lastModified, fields, head.fields)
        if tags.isEmpty { return hasSameDate || !fields.contains(.lastModified) }
        guard let own = head.fields.entityTag?.text, tags.allSatisfy({ isSameTag($0, own) }) else { return false }
        // A strong tag is none of a response with a weak one. Another strong validator may identify that: nginx weakens the
        // tag of a body that it compresses, and not that of a 304 response.
        return !isWeak(own) || tags.allSatisfy(isWeak) || hasSameDate && head.facts.hasStrongDate
    }

    /// Returns whether both have the same value of a field that a message has once, or neither has one.
    private static func agree(on name: HTTPField.Name, _ new: HTTPFields, _ old: HTTPFields) -> Bool {
        !new.contradicts(name) && !old.contradicts(name) && new.singleton(name)?.text == old.singleton(name)?.text
    }

    /// Returns the head that the response to a HEAD request makes of a stored one; nil when a validator or the length of the
    /// body is not that of the stored one (RFC 9111 section 4.3.5).
    /// - Parameter bodyLength: The number of bytes of the stored body.
    static func updated(
        _ head: StoredHead,
        byHead fields: HTTPFields,
        bodyLength: Int64,
        requestTime: Int64,
        responseTime: Int64
    ) -> StoredHead? {
        for name in [HTTPField.Name.eTag, .lastModified] {
            if fields.contains(name), !agree(on: name, fields, head.fields) { return nil }
        }
        guard fields[values: .contentLength].allSatisfy({ CacheControl.decimal($0) == bodyLength }) else { return nil }
        return merged(head, fields, requestTime: requestTime, responseTime: responseTime)
    }

    private static func merged(_ head: StoredHead, _ fields: HTTPFields, requestTime: Int64, responseTime: Int64)
        -> StoredHead
    {
        // These describe the stored bytes.
        let kept: Set<HTTPField.Name> = [.contentLength, .contentEncoding, .contentRange, .eTag]
        let new = StorableFields.of(fields).filter { !kept.contains($0.name) }
        let names = Set(new.map(\.name))
        // An `Age` counts for the response that it came with.
        var fields = head.fields
        fields.removeAll { names.contains($0.name) || $0.name == .age }
        for field in new { fields.append(field) }
        return head.with(fields, requestTime: requestTime, responseTime: responseTime)
    }

    /// Compares entity tags weakly (RFC 9110 section 8.8.3.2).
    static func isSameTag(_ left: String, _ right: String) -> Bool { opaque(left) == opaque(right) }

    private static func isWeak(_ tag: String) -> Bool { tag.hasPrefix("W/") }

    private static func opaque(_ tag: String) -> Substring { isWeak(tag) ? tag.dropFirst(2) : tag[...] }

    /// Whether a stored response answers a request's own conditions with 304 (RFC 9111 section 4.3.2); nil when the server
    /// must decide.
    /// - Parameter now: Milliseconds since 1970.
    static func isNotModified(_ head: StoredHead, for fields: HTTPFields, at now: Int64) -> Bool? {
        if fields.contains(.ifMatch) || fields.contains(.ifUnmodifiedSince) { return nil }
        // Conditions have no meaning for other responses (RFC 9110 section 13.2.1).
        guard (200..<300).contains(head.status) else { return false }
        let tags = fields[fields: .ifNoneMatch].flatMap { ListElements($0.text) }
        if !tags.isEmpty {
            if tags == ["*"] { return true }
            guard let own = head.fields.entityTag else { return false }
            return tags.contains { isSameTag($0, own.text) }
        }
        guard let since = fields.singleton(.ifModifiedSince)?.value else { return false }
        guard let date = HTTPDate.seconds(since, now: now / 1000) else { return false }
        if head.fields.contains(.lastModified) { return head.facts.lastModified.map { $0 <= date * 1000 } ?? false }
        return (head.facts.date ?? head.responseTime) <= date * 1000
    }

    /// Returns the URLs besides its own that the response to an unsafe request invalidates (RFC 9111 section 4.4). The caller
    /// compares their origins.
    static func invalidatedReferences(in fields: HTTPFields) -> [String] {
        [HTTPField.Name.location, .contentLocation].compactMap { fields.singleton($0)?.uriReference }
    }

    /// Whether a response to a request with this method invalidates stored ones.
    static func invalidates(_ method: HTTPRequest.Method, status: Int) -> Bool {
        !method.isSafe && (200...399).contains(status)
    }
}

/// The range of a request, applied to a stored response (RFC 9110 section 14).
enum StoredRange: Hashable, Sendable {
    /// The request gets the whole response.
    case whole
    case part(Range<Int64>)
    case unsatisfiable

    /// - Parameter length: The number of bytes of the stored body.
    init(_ fields: HTTPFields, of head: StoredHead, length: Int64) {
        guard head.status == 200, let range = fields[.range], Self.conditionHolds(fields, head),
            let part = Self.part(of: range, length: length)
        else {
            self = .whole
            return
        }
        self = part
    }

    /// Whether the stored response is the one that `If-Range` means, by strong comparison.
    private static func conditionHolds(_ fields: HTTPFields, _ head: StoredHead) -> Bool {
        guard fields.contains(.ifRange) else { return true }
        guard let condition = fields.singleton(.ifRange)?.text else { return false }
        if condition.hasPrefix("\"") { return condition == head.fields.entityTag?.text }
        if condition.hasPrefix("W/") { return false }
        return condition == head.fields.singleton(.lastModified)?.value
    }

    /// Returns the part of a range of bytes; nil for an invalid range, another unit, or several ranges, which are ignored.
    private static func part(of text: String, length: Int64) -> StoredRange? {
        guard text.lowercased().hasPrefix("bytes=") else { return nil }
        let range = text.dropFirst(6)
        guard !range.contains(","), let dash = range.firstIndex(of: "-") else { return nil }
        let (first, last) = (String(range[..<dash]), String(range[range.index(after: dash)...]))
        if first.isEmpty {
            guard let count = CacheControl.decimal(last) else { return nil }
            return count == 0 || length == 0 ? .unsatisfiable : .part(max(0, length - count)..<length)
        }
        guard let start = CacheControl.decimal(first) else { return nil }
        if last.isEmpty { return start < length ? .part(start..<length) : .unsatisfiable }
        guard let end = CacheControl.decimal(last), end >= start else { return nil }
        return start < length ? .part(start..<min(end + 1, length)) : .unsatisfiable
    }
}

extension HTTPField {
    /// The value with a character for each byte outside ASCII: values that differ in one byte have different texts.
    var text: String {
        let text = value
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return text }
        var characters = String.UnicodeScalarView()
        withUnsafeBytesOfValue { bytes in
            for byte in bytes { characters.append(UnicodeScalar(byte)) }
        }
        return String(characters)
    }
}

extension HTTPFields {
    /// The `ETag` field; nil when there are differing ones, since they do not identify one representation.
    var entityTag: HTTPField? { singleton(.eTag) }
}

extension CacheControl {
    /// Returns a number of digits alone; nil for anything else and for a number over 18 digits.
    static func decimal(_ text: String) -> Int64? {
        text.utf8.count <= 18 ? Int64(digits: text) : nil
    }
}
