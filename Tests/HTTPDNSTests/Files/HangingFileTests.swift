// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSTesting
import ServerRig
import Testing

@testable import HTTPDNS

struct HangingFileTests {
    /// The threads of a file system that hangs until it answers.
    private final class Disk: Sendable {
        private struct State: Sendable {
            var hangs = false
            var held: [@Sendable () -> Void] = []
        }

        private let state = Lock(State())

        var isBusy: Bool { state.withLock { !$0.held.isEmpty } }

        func start(_ body: @escaping @Sendable () -> Void) -> Bool {
            let hangs = state.withLock { state in
                if state.hangs { state.held.append(body) }
                return state.hangs
            }
            if !hangs { body() }
            return true
        }

        func hang() { state.withLock { $0.hangs = true } }

        func answer() {
            let held = state.withLock { state in
                state.hangs = false
                defer { state.held = [] }
                return state.held
            }
            for body in held { body() }
        }
    }

    enum Step: CaseIterable, Sendable {
        case opening, writing, finishing
    }

    private let folder: TemporaryFolder
    private let disk = Disk()
    private let clock = HTTPDNSManualClock(start: SystemTimeSource().now())
    private let time: CallTime

    init() throws {
        folder = try TemporaryFolder()
        time = CallTime(total: .seconds(60))
    }

    private func opened(_ policy: HTTPDNSClient.Download.ExistingFile = .replace) async throws -> FileSaving {
        try await FileSaving(
            folder.path("a"),
            policy,
            in: .request,
            of: time,
            work: SerialWork(startThread: disk.start),
            clock: clock
        )
    }

    /// Returns the file, once it is open, and the step that hangs.
    private func hanging(_ step: Step) async throws -> (file: FileSaving?, task: Task<Void, any Error>) {
        let file = step == .opening ? nil : try await opened()
        try await file?.append([1])
        disk.hang()
        let task = Task { [self] in
            guard let file else {
                _ = try await opened()
                return
            }
            guard step == .finishing else { return try await file.append([2]) }
            try await file.finish()
        }
        while !disk.isBusy, !Task.isCancelled { await Task.yield() }
        return (file, task)
    }

    /// The file is removed later, and never gets its name.
    @Test("A file on a hanging file system ends the call at its deadline", arguments: Step.allCases)
    func deadline(step: Step) async throws {
        let (file, task) = try await hanging(step)
        clock.advance(by: .seconds(61))
        let error = try #require(await clientError { try await task.value })
        #expect(error.code == .timedOut && error.isCallDeadline && error.limit == .seconds(60), "\(error)")
        #expect(error.phase == (step == .opening ? .request : .body))
        #expect(error.requestMayHaveBeenSent == (step != .opening))
        await file?.discard(after: error)
        disk.answer()
        await file?.discard(after: CancellationError())
        #expect(try folder.names == [])
    }

    @Test("A canceled call does not wait for a hanging file system", arguments: Step.allCases)
    func canceled(step: Step) async throws {
        let (file, task) = try await hanging(step)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        let isOver = Lock(false)
        Task {
            await file?.discard(after: CancellationError())
            isOver.withLock { $0 = true }
        }
        while !isOver.withLock({ $0 }), !Task.isCancelled {
            clock.advance(by: .milliseconds(1))
            await Task.yield()
        }
        disk.answer()
        await file?.discard(after: CancellationError())
        #expect(try folder.names == [])
    }

    @Test("The part of an earlier download survives an opening that ends too late")
    func part() async throws {
        do {
            let earlier = try ReplacedFile(folder.path("a"), continuesPart: true)
            try earlier.append([1, 2])
            earlier.keep()
        }
        let names = try folder.names
        disk.hang()
        let task = Task { [self] in _ = try await opened(.resume) }
        while !disk.isBusy, !Task.isCancelled { await Task.yield() }
        clock.advance(by: .seconds(61))
        #expect(await clientError { try await task.value }?.code == .timedOut)
        disk.answer()
        #expect(try names.count == 1 && folder.names == names)
    }

    @Test("The time limit of a call covers the file of its body")
    func calls() async throws {
        let rig = try Rig()
        let limit = Duration.milliseconds(50)
        try await ThreadPool.$files.withValue(ThreadPool(limit: 1) { _ in true }) {
            for existing in [HTTPDNSClient.Download.ExistingFile.replace, .resume] {
                let error = await clientError {
                    try await rig.client.download(
                        "https://map.test/",
                        to: folder.path("a"),
                        existingFile: existing,
                        { $0.timeouts.total = limit }
                    )
                }
                #expect(error?.code == .timedOut && error?.phase == .request && error?.limit == limit)
                #expect(error?.isCallDeadline == true && error?.requestMayHaveBeenSent == false)
            }
            #expect(rig.wire.requests.isEmpty)
            let response = try await rig.client.get("https://map.test/") { $0.timeouts.total = .seconds(1) }
            let error = await clientError { try await response.body.save(to: folder.path("a")) }
            #expect(error?.code == .timedOut && error?.phase == .body && error?.limit == .seconds(1))
            #expect(error?.isCallDeadline == true && error?.requestMayHaveBeenSent == true)
        }
        #expect(try folder.names == [])
    }
}
