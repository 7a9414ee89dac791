// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The secrets of markup (HTML, XML): `<input name="token" value="...">` in any order of the attributes, and the text of
/// `<password>...</password>`. A value, which reads each tag once.
struct MarkupSecretScan {
    private let names: SecretNames
    /// The values that are secrets, in their order, and the number of those that were returned or passed.
    private var values: [Range<Int>] = []
    private var passed = 0
    /// The end of the last tag.
    private var end = 0

    init(_ names: SecretNames) { self.names = names }

    /// Returns the bytes of a secret value that begins at an index.
    /// - Parameter index: Not below that of an earlier call.
    mutating func secret(at index: Int) -> Range<Int>? {
        while passed < values.count, values[passed].lowerBound < index { passed += 1 }
        guard passed < values.count, values[passed].lowerBound == index else { return nil }
        return values[passed]
    }

    /// Reads the tag that begins at an index, unless it is inside of one that was read.
    mutating func readTag(_ bytes: [UInt8], at index: Int) {
        guard index >= end, index + 1 < bytes.count, bytes[index + 1].isLetter else { return }
        var (found, isNamed, isSecret) = ([Range<Int>](), false, false)
        let name = Self.run(bytes, from: index + 1)
        var position = name.upperBound
        while let attribute = Self.attribute(bytes, &position) {
            let value = bytes[attribute.value]
            switch SecretNames.normalized(bytes[attribute.name]) {
            case Self.value, Self.content: found.append(attribute.value)
            case Self.type: isSecret = isSecret || SecretNames.normalized(value) == Self.password
            case Self.name, Self.key: isNamed = isNamed || names.contains(value)
            case Self.id, Self.property: isSecret = isSecret || names.contains(value)
            default: break
            }
        }
        end = position
        if isNamed || isSecret { values += found.filter { isValue($0, bytes) } }
        let local = bytes[name].lastIndex(of: UInt8(ascii: ":")).map { $0 + 1 } ?? name.lowerBound
        guard position < bytes.count, bytes[position] == UInt8(ascii: ">"), bytes[position - 1] != UInt8(ascii: "/"),
            isNamed || names.contains(bytes[local..<name.upperBound])
        else { return }
        let text = (position + 1)..<(bytes[position...].firstIndex(of: UInt8(ascii: "<")) ?? bytes.count)
        // An element of elements is no secret; theirs are found by their own names.
        let isClosed =
            text.upperBound == bytes.count || bytes[text.upperBound...].dropFirst().first == UInt8(ascii: "/")
        if isClosed, isValue(text, bytes) { values.append(text) }
    }

    /// Returns whether something is to be replaced.
    private func isValue(_ range: Range<Int>, _ bytes: [UInt8]) -> Bool {
        bytes[range].contains { $0 > 0x20 } && !bytes[range].elementsEqual(HTTPDNSClient.Redaction.mark.utf8)
    }

    private static let value = Array("value".utf8)
    private static let content = Array("content".utf8)
    private static let type = Array("type".utf8)
    private static let password = Array("password".utf8)
    private static let name = Array("name".utf8)
    private static let key = Array("key".utf8)
    private static let id = Array("id".utf8)
    private static let property = Array("property".utf8)

    /// Returns the next attribute of a tag, and moves behind it; nil at the end of the tag, which stays.
    private static func attribute(_ bytes: [UInt8], _ position: inout Int) -> (name: Range<Int>, value: Range<Int>)? {
        skip(bytes, &position) { $0 <= 0x20 || $0 == UInt8(ascii: "/") }
        let name = run(bytes, from: position)
        guard !name.isEmpty else { return nil }
        position = name.upperBound
        skip(bytes, &position) { $0 <= 0x20 }
        guard position < bytes.count, bytes[position] == UInt8(ascii: "=") else { return (name, position..<position) }
        position += 1
        skip(bytes, &position) { $0 <= 0x20 }
        guard position < bytes.count else { return (name, position..<position) }
        let quote = bytes[position]
        guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else {
            let start = position
            skip(bytes, &position) { $0 > 0x20 && $0 != UInt8(ascii: ">") && $0 != UInt8(ascii: "<") }
            return (name, start..<position)
        }
        let start = position + 1
        let end = bytes[start...].firstIndex(of: quote) ?? bytes.count
        position = min(end + 1, bytes.count)
        return (name, start..<end)
    }

    private static func skip(_ bytes: [UInt8], _ position: inout Int, while isSkipped: (UInt8) -> Bool) {
        while position < bytes.count, isSkipped(bytes[position]) { position += 1 }
    }

    /// Returns the bytes of a name from an index.
    private static func run(_ bytes: [UInt8], from start: Int) -> Range<Int> {
        let end = bytes[start...].firstIndex { byte in
            byte <= 0x20 || byte == UInt8(ascii: "=") || byte == UInt8(ascii: ">") || byte == UInt8(ascii: "/")
                || byte == UInt8(ascii: "<")
        }
        return start..<(end ?? bytes.count)
    }
}
