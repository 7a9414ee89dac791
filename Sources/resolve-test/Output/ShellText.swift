/// Arguments quoted for a POSIX shell, for printed commands that are meant to be pasted.
enum ShellText {
    static func quoted(_ argument: String) -> String {
        let plain = !argument.isEmpty && argument.utf8.allSatisfy(isPlain)
        return plain ? argument : alwaysQuoted(argument)
    }

    static func alwaysQuoted(_ argument: String) -> String {
        "'" + argument.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        case UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: ":"), UInt8(ascii: "/"),
            UInt8(ascii: ","), UInt8(ascii: "@"), UInt8(ascii: "+"), UInt8(ascii: "%"), UInt8(ascii: "="):
            true
        default: false
        }
    }
}
