internal import Glibc

/// `httpdns-fuzz TARGET [libFuzzer's arguments]`
@main
struct HTTPDNSFuzz {
    static func main() {
        let arguments = CommandLine.arguments
        guard arguments.count > 1, let target = FuzzTarget.all.first(where: { $0.name == arguments[1] }) else {
            let names = FuzzTarget.all.map(\.name).joined(separator: " ")
            let usage = "usage: httpdns-fuzz TARGET [libFuzzer's arguments]; the targets are: \(names)\n"
            _ = usage.utf8CString.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count - 1) }
            exit(2)
        }
        selected = target

        // libFuzzer reads the arguments itself, without the target's name.
        var count = CommandLine.argc - 1
        var values = CommandLine.unsafeArgv + 1
        values[0] = CommandLine.unsafeArgv[0]
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
