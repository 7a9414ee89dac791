/// The name of a file while it is written: the snapshot's name, 16 random hexadecimal digits, `.tmp`.
struct TemporaryName: Hashable {
    private static let digits = 16
    private static let ending = ".tmp"

    let text: String

    /// Creates a unique name. If a file of that name exists nevertheless, `O_EXCL` refuses it.
    init(for name: String) {
        let number = String(UInt64.random(in: .min ... .max), radix: 16)
        text = "\(name)." + String(repeating: "0", count: Self.digits - number.count) + number + Self.ending
    }

    /// Returns whether `text` is a name that this type could have created for the snapshot `name`.
    static func isOne(_ text: String, for name: String) -> Bool {
        guard text.hasPrefix("\(name)."), text.hasSuffix(ending) else { return false }
        let middle = text.utf8.dropFirst(name.utf8.count + 1).dropLast(ending.utf8.count)
        return middle.count == digits
            && middle.allSatisfy {
                UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || UInt8(ascii: "a")...UInt8(ascii: "f") ~= $0
            }
    }
}
