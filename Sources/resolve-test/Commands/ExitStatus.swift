/// The program's exit statuses. Docs/CommandLine.md has the table.
enum ExitStatus {
    /// Everything was done.
    static let done: Int32 = 0
    /// A name, connection or answer failed.
    static let failed: Int32 = 1
    /// The arguments or the configuration cannot be used. No request was sent.
    static let usage: Int32 = 2

    /// `compare`: an answer is suspicious.
    static let suspicious: Int32 = 3

    /// Returns the status of a program that a signal ended, as shells count it.
    static func signal(_ number: Int32) -> Int32 { 128 + number }
}
