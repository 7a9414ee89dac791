// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Foundation

/// The program's entry point: arguments in, exit status out.
@main
struct ResolveTest {
    static func main() async {
        StandardStream.occupyClosed()
        let console = Console.process
        // libcurl leaves SIGPIPE to the program (CURLOPT_NOSIGNAL): a server that closes a connection must not end it.
        _ = Interruption.inheritsIgnoredBrokenPipe
        let interruption = Interruption()
        let arguments = Array(CommandLine.arguments.dropFirst())
        var invocation = Invocation(arguments: arguments, console: console, interruption: interruption)
        invocation.unreadable = (1..<max(1, Int(CommandLine.argc))).first { index in
            CommandLine.unsafeArgv[index].map { String(validatingCString: $0) == nil } ?? false
        }
        let work = Task { [invocation] in await invocation.run() }
        interruption.cancelOnSignal(work)
        let status = await work.value
        exit(interruption.exitStatus ?? status)
    }
}
