// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import Foundation

/// The program's entry point: arguments in, exit status out.
@main
struct ResolveTest {
    static func main() async {
        #if NIO && YAML
        PrivateNamespace.enterIfAsked()
        ParentProcess.endsWatchedAgent()
        #endif
        StandardStream.occupyClosed()
        _ = Interruption.ignoredAtStart
        let console = Console.process
        // libcurl leaves SIGPIPE to the program (CURLOPT_NOSIGNAL): a server that closes a connection must not end it.
        signal(SIGPIPE, SIG_IGN)
        let interruption = Interruption()
        let given = RawText.arguments(
            (1..<max(1, Int(CommandLine.argc))).map { index in
                CommandLine.unsafeArgv[index].map {
                    UnsafeBufferPointer(start: $0, count: strlen($0)).map { UInt8(bitPattern: $0) }
                } ?? []
            }
        )
        var invocation = Invocation(arguments: given.texts, console: console, interruption: interruption)
        invocation.unreadable = given.unreadable
        let work = Task { [invocation] in await invocation.run() }
        // The command of `run` gets the signals.
        if given.texts.first != "run" {
            interruption.cancelOnSignal(work, secondEnds: !given.texts.contains("--watched-by"))
        }
        let status = await work.value
        exit(interruption.exitStatus ?? status)
    }
}

#else

internal import Foundation

/// The program without the package trait `CommandLine`, which brings what it reads its arguments with.
@main
struct ResolveTest {
    static func main() {
        FileHandle.standardError.write(
            Data("resolve-test: built without its commands: swift build --traits default,CommandLine\n".utf8)
        )
        exit(2)
    }
}

#endif
