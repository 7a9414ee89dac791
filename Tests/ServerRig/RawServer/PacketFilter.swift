// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc

/// A filter on a socket (SO_ATTACH_FILTER, socket(7)), for a black hole under an open connection without root. The kernel drops
/// rejected packets before TCP sees them, so that nothing is acknowledged.
enum PacketFilter {
    /// `struct sock_filter` of linux/filter.h, which Swift's Glibc does not have.
    private struct Instruction {
        var code: UInt16
        var jumpIfTrue: UInt8 = 0
        var jumpIfFalse: UInt8 = 0
        var operand: UInt32 = 0
    }

    /// `struct sock_fprog`.
    private struct Program {
        var count: UInt16
        var instructions: UnsafeMutablePointer<Instruction>
    }

    /// BPF_RET | BPF_K: the packet is cut to the length in the operand; 0 drops it.
    private static let cut: UInt16 = 0x06

    static func dropEverything(sentTo socket: Int32) {
        var instruction = Instruction(code: cut)
        withUnsafeMutablePointer(to: &instruction) { instructions in
            var program = Program(count: 1, instructions: instructions)
            let length = socklen_t(MemoryLayout<Program>.size)
            let result = setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &program, length)
            precondition(result == 0, "SO_ATTACH_FILTER: \(String(cString: strerror(errno)))")
        }
    }

    static func remove(from socket: Int32) {
        var unused: Int32 = 0
        setsockopt(socket, SOL_SOCKET, SO_DETACH_FILTER, &unused, socklen_t(MemoryLayout<Int32>.size))
    }
}
