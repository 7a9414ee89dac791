internal import Foundation

/// The values of `-d` and `--data-binary`: the bytes of a request body, by curl's rules.
enum DataArgument {
    /// Returns the bytes: `@FILE` reads a file and `@-` standard input; several values are joined by `&`.
    /// - Parameter keepsLineBreaks: Whether CR, LF and NUL of files stay, as with curl's `--data-binary`.
    static func bytes(_ values: [String], keepsLineBreaks: Bool) throws(CommandFailure) -> [UInt8] {
        var body: [UInt8] = []
        for (index, value) in values.enumerated() {
            if index > 0 { body.append(UInt8(ascii: "&")) }
            guard value.hasPrefix("@") else {
                body += Array(value.utf8)
                continue
            }
            let content = try read(String(value.dropFirst()))
            body += keepsLineBreaks ? content : content.filter { $0 != 0x0d && $0 != 0x0a && $0 != 0x00 }
        }
        return body
    }

    private static func read(_ path: String) throws(CommandFailure) -> [UInt8] {
        do {
            let handle =
                path == "-" ? FileHandle.standardInput : try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            return Array(try handle.readToEnd() ?? Data())
        } catch {
            throw .usage(
                "-d @\(path): the file cannot be read",
                hint: "for data that starts with @ write it to a file"
            )
        }
    }
}
