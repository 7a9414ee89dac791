// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The state of one connection to the control socket: its input, its output, and its time limits.
///
/// A value: it does neither I/O nor work, and returns the actions to perform. One request is performed at a time; further ones
/// wait in the order of their arrival. A watch continues concurrently.
struct ControlConnection: Sendable {
    /// An action to perform.
    enum Action: Hashable, Sendable {
        /// Perform a request, and call ``performed(_:at:)`` when it is done.
        case perform(ControlRequest)
        /// Close the connection, and end its tasks.
        case close
    }

    /// The received bytes that were not processed yet.
    private var input: [UInt8] = []
    /// The number of processed bytes of `input`.
    private var consumed = 0
    /// The index in `input` from which the search for a line feed continues.
    private var searched = 0
    private var output: [UInt8] = []
    /// The number of written bytes of `output`.
    private var written = 0
    private var isPerforming = false
    private var isWatching = false
    /// Whether the peer has ended its side of the connection.
    private var inputHasEnded = false
    /// Whether the connection is closed once `output` is written.
    private var isEnding = false
    private var idleSince: MonotonicTime
    /// The time since which the peer has read nothing of `output`.
    private var waitingSince: MonotonicTime?

    init(at now: MonotonicTime) { idleSince = now }

    /// Whether the connection reads from the peer. Bytes of a peer that has to wait stay in the kernel, and finally with the
    /// peer.
    var wantsInput: Bool { !inputHasEnded && !isEnding && !isPerforming }

    /// The bytes to write next; may be empty.
    var pendingOutput: ArraySlice<UInt8> { output[written...] }

    /// The latest time for the next call of ``timePassed(at:)``; nil means never.
    var deadline: MonotonicTime? {
        if let waitingSince { return waitingSince + ControlProtocol.readerPatience }
        return isPerforming || isWatching ? nil : idleSince + ControlProtocol.idleLimit
    }

    /// Processes bytes from the peer.
    mutating func received(_ octets: some Collection<UInt8>, at now: MonotonicTime) -> [Action] {
        guard !isEnding else { return [] }
        input += octets
        return readLines(at: now)
    }

    /// Records that the peer has ended its side. Its earlier requests are still answered.
    mutating func inputEnded(at now: MonotonicTime) -> [Action] {
        guard !inputHasEnded else { return [] }
        inputHasEnded = true
        return readLines(at: now)
    }

    /// Adds a line for the peer.
    mutating func send(_ line: [UInt8], at now: MonotonicTime) -> [Action] {
        guard output.count - written + line.count <= ControlProtocol.maximumBacklog else { return [.close] }
        output += line
        waitingSince = waitingSince ?? now
        return []
    }

    /// Records that a request was performed.
    mutating func performed(_ request: ControlRequest, at now: MonotonicTime) -> [Action] {
        if case .watch = request.command { isWatching = false } else { isPerforming = false }
        idleSince = now
        return readLines(at: now)
    }

    /// Records that the kernel has accepted a part of ``pendingOutput``.
    mutating func wrote(_ count: Int, at now: MonotonicTime) -> [Action] {
        guard count > 0 else { return [] }
        written += count
        waitingSince = now
        if written == output.count {
            output = []
            written = 0
            waitingSince = nil
            idleSince = now
        } else if written >= ControlConnection.compactionThreshold {
            output.removeFirst(written)
            written = 0
        }
        return endIfDone()
    }

    /// Ends the connection of a peer that neither reads nor sends requests.
    mutating func timePassed(at now: MonotonicTime) -> [Action] {
        guard let deadline, now >= deadline else { return [] }
        guard waitingSince == nil, !isEnding else { return [.close] }
        let seconds = ControlProtocol.idleLimit.components.seconds
        return end(with: ControlFault(.idle, "no request came for \(seconds) s; the connection ends"), at: now)
    }

    /// Sends a fault, and ends the connection once it is written.
    mutating func end(with fault: ControlFault, at now: MonotonicTime) -> [Action] {
        isEnding = true
        return send(ControlReply(to: nil, fault).line, at: now) + endIfDone()
    }

    /// For a reader this far behind, the rest is copied, so that the memory is at most twice that.
    private static let compactionThreshold = 256 * 1024

    /// Reads as many requests as may be performed now.
    private mutating func readLines(at now: MonotonicTime) -> [Action] {
        var actions: [Action] = []
        defer {
            input.removeFirst(consumed)
            searched -= consumed
            consumed = 0
        }
        while !isPerforming, !isEnding, let line = nextLine() {
            guard line.count <= ControlProtocol.maximumLine else { return actions + end(with: .lineTooLong, at: now) }
            if line.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0d }) { continue }
            idleSince = now
            do throws(ControlFault) {
                actions.append(.perform(try admit(ControlRequest(line: Array(line)))))
            } catch {
                actions += send(ControlReply(to: nil, error).line, at: now)
            }
        }
        if !isEnding, !isPerforming, input.count - consumed > ControlProtocol.maximumLine {
            return actions + end(with: .lineTooLong, at: now)
        }
        return actions + endIfDone()
    }

    private mutating func admit(_ request: ControlRequest) throws(ControlFault) -> ControlRequest {
        guard case .watch = request.command else {
            isPerforming = true
            return request
        }
        guard !isWatching else {
            throw ControlFault(.alreadyWatching, "this connection is watching already", hint: "open another connection")
        }
        isWatching = true
        return request
    }

    /// Returns the next line, without its line feed. The rest of the input at the end counts as a line.
    private mutating func nextLine() -> ArraySlice<UInt8>? {
        if let end = input[searched...].firstIndex(of: UInt8(ascii: "\n")) {
            defer { (consumed, searched) = (end + 1, end + 1) }
            return input[consumed..<end]
        }
        searched = input.count
        guard inputHasEnded, consumed < input.count else { return nil }
        defer { consumed = input.count }
        return input[consumed...]
    }

    /// Returns the action to close the connection, once no work is left for a peer that has ended, or that is to end.
    private func endIfDone() -> [Action] {
        guard pendingOutput.isEmpty else { return [] }
        return isEnding || inputHasEnded && !isPerforming && !isWatching ? [.close] : []
    }
}
