// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS

/// The replacement of secrets in free text: the values of `name=value` and the user information of URLs.
struct SecretScan: Sendable {
    /// The ends of a value in a text that may have several URLs. A comma or a semicolon may belong to a value.
    static let textEnds = Set("& \t\r\n\"'<>".utf8)
    /// The ends of a value in a path.
    static let pathEnds = Set("/;".utf8)

    let names: SecretNames
    let ends: Set<UInt8>

    func redacted(_ text: String) -> String {
        let isPlain = !text.utf8.contains { $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: "@") }
        return isPlain ? text : String(decoding: redacted(Array(text.utf8)), as: UTF8.self)
    }

    func redacted(_ bytes: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var index = 0
        var nameStart = 0
        while index < bytes.count {
            let byte = bytes[index]
            result.append(byte)
            index += 1
            if byte == UInt8(ascii: "=") {
                if isSecret(bytes[nameStart..<(index - 1)]) {
                    result += Redactor.mark.utf8
                    index = bytes[index...].firstIndex(where: ends.contains) ?? bytes.count
                }
                nameStart = index
            } else if !isPartOfName(byte) {
                nameStart = index
            }
            if byte == UInt8(ascii: "/"), result.suffix(3).elementsEqual("://".utf8) {
                index = userInformationEnd(in: bytes, from: index)
                nameStart = index
            }
        }
        return result
    }

    private func isSecret(_ name: ArraySlice<UInt8>) -> Bool {
        guard name.contains(UInt8(ascii: "%")) else { return names.contains(name) }
        return names.contains(Array(FormItems.decoded(String(decoding: name, as: UTF8.self)[...]).utf8))
    }

    private func isPartOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        case UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "%"), UInt8(ascii: "["),
            UInt8(ascii: "]"),
            0x80...:
            true
        default: false
        }
    }

    /// Returns the index behind the user information of an authority that begins at an index.
    private func userInformationEnd(in bytes: [UInt8], from start: Int) -> Int {
        let authority = bytes[start...].prefix { byte in
            byte > 0x20 && byte != UInt8(ascii: "/") && byte != UInt8(ascii: "?") && byte != UInt8(ascii: "#")
                && byte != UInt8(ascii: "\"")
        }
        return authority.lastIndex(of: UInt8(ascii: "@")).map { $0 + 1 } ?? start
    }
}
