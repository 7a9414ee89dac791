// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc

/// `httpdns-fuzz TARGET [libFuzzer's arguments]`
@main
struct HTTPDNSFuzz {
    /// Tells the processes that libFuzzer starts for merging, minimizing and forking which target it is: it starts them
    /// with its own arguments alone.
    private static let variable = "HTTPDNS_FUZZ_TARGET"

    static func main() {
        let inherited = getenv(variable).map { String(cString: $0) }
        let name = inherited ?? CommandLine.arguments.dropFirst().first
        guard let name, let target = FuzzTarget.all.first(where: { $0.name == name }) else {
            let names = FuzzTarget.all.map(\.name).joined(separator: " ")
            let usage = "usage: httpdns-fuzz TARGET [libFuzzer's arguments]; the targets are: \(names)\n"
            _ = usage.utf8CString.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count - 1) }
            exit(2)
        }
        selected = target

        var count = CommandLine.argc
        var values = CommandLine.unsafeArgv
        if inherited == nil {
            setenv(variable, name, 1)
            count -= 1
            values += 1
            values[0] = CommandLine.unsafeArgv[0]
        }
        exit(runDriver(&count, &values, testOneInput))
    }
}

/// Set once, before libFuzzer starts.
nonisolated(unsafe) private var selected: FuzzTarget?

/// The symbol that libFuzzer links against.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ octets: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    selected?.run(Array(UnsafeBufferPointer(start: octets, count: count)))
    return 0
}

@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ count: UnsafeMutablePointer<CInt>,
    _ values: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ test: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt
