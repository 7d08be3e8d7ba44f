"""A client of the MySQL protocol, reduced to the needs of a test driver.

It sends statements as bytes and gives values as bytes, without conversions, so that two servers can be compared by what they put on the wire.
Statements may be sent without waiting for the answer, because mysqltest's `send` and `reap` need that.
"""

import hashlib
import socket
import struct
import time

LONG_PASSWORD, LONG_FLAG, CONNECT_WITH_DB, LOCAL_FILES, PROTOCOL_41 = 1, 4, 8, 128, 512
TRANSACTIONS, SECURE_CONNECTION, MULTI_STATEMENTS, MULTI_RESULTS = 8192, 32768, 1 << 16, 1 << 17
PS_MULTI_RESULTS, PLUGIN_AUTH = 1 << 18, 1 << 19
CAPABILITIES = (LONG_PASSWORD | LONG_FLAG | LOCAL_FILES | PROTOCOL_41 | TRANSACTIONS | SECURE_CONNECTION | MULTI_STATEMENTS
                | MULTI_RESULTS | PS_MULTI_RESULTS | PLUGIN_AUTH)
MORE_RESULTS = 8
UTF8MB4_GENERAL_CI = 45


class ServerError(Exception):
    """An error packet."""

    def __init__(self, number, message):
        super().__init__(number, message)
        self.number, self.message = number, message


class Lost(Exception):
    """The connection has ended."""


class TimedOut(Exception):
    """The server did not answer in time; the connection is still open."""


def native_scramble(password, salt):
    if not password:
        return b""
    first = hashlib.sha1(password).digest()
    second = hashlib.sha1(salt + hashlib.sha1(first).digest()).digest()
    return bytes(a ^ b for a, b in zip(first, second))


def sha2_scramble(password, salt):
    if not password:
        return b""
    first = hashlib.sha256(password).digest()
    second = hashlib.sha256(hashlib.sha256(first).digest() + salt).digest()
    return bytes(a ^ b for a, b in zip(first, second))


def scramble(plugin, password, salt):
    if plugin == b"caching_sha2_password":
        return sha2_scramble(password, salt)
    return native_scramble(password, salt)


def length_encoded(data, at):
    first = data[at]
    if first < 0xFB:
        return first, at + 1
    if first == 0xFC:
        return struct.unpack_from("<H", data, at + 1)[0], at + 3
    if first == 0xFD:
        return int.from_bytes(data[at + 1:at + 4], "little"), at + 4
    return struct.unpack_from("<Q", data, at + 1)[0], at + 9


class Rows:
    """A result set: names of columns, and rows as tuples of bytes or None."""

    def __init__(self, columns, rows):
        self.columns, self.rows = columns, rows


class Done:
    """The answer to a statement without rows."""

    def __init__(self, affected):
        self.affected = affected


class Connection:
    def __init__(self, path=None, port=None, user=b"root", password=b"", database=b"", timeout=30.0):
        if path:
            self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.address = path
        else:
            self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            self.address = ("127.0.0.1", port)
        self.buffer = bytearray()
        self.sequence = 0
        self.pending = False
        self.deadline = time.monotonic() + timeout
        try:
            self.socket.settimeout(timeout)
            self.socket.connect(self.address)
            self._log_in(user, password, database)
        except OSError as error:
            self.socket.close()
            raise Lost(str(error)) from error
        except BaseException:
            self.socket.close()
            raise

    def _receive(self, count):
        while len(self.buffer) < count:
            left = self.deadline - time.monotonic()
            if left <= 0:
                raise TimedOut()
            self.socket.settimeout(left)
            try:
                data = self.socket.recv(1 << 16)
            except TimeoutError:
                raise TimedOut() from None
            except OSError as error:
                raise Lost(str(error)) from error
            if not data:
                raise Lost("end of stream")
            self.buffer += data

    def _packet(self):
        whole = b""
        while True:
            self._receive(4)
            length = int.from_bytes(self.buffer[:3], "little")
            self._receive(4 + length)
            self.sequence = (self.buffer[3] + 1) & 255
            whole += bytes(self.buffer[4:4 + length])
            del self.buffer[:4 + length]
            if length < 0xFFFFFF:
                return whole

    def _write(self, data):
        try:
            self.socket.settimeout(60)
            while True:
                part, data = data[:0xFFFFFF], data[0xFFFFFF:]
                self.socket.sendall(len(part).to_bytes(3, "little") + bytes([self.sequence]) + part)
                self.sequence = (self.sequence + 1) & 255
                if len(part) < 0xFFFFFF:
                    return
        except OSError as error:
            raise Lost(str(error)) from error

    @staticmethod
    def _error(packet):
        number = struct.unpack_from("<H", packet, 1)[0]
        message = packet[3:]
        if message[:1] == b"#":
            message = message[6:]
        return ServerError(number, message.decode("utf-8", "replace"))

    def _log_in(self, user, password, database):
        greeting = self._packet()
        if greeting[0] == 0xFF:
            raise self._error(greeting)
        end = greeting.index(b"\0", 1)
        self.version = greeting[1:end].decode()
        self.id = struct.unpack_from("<I", greeting, end + 1)[0]
        salt = greeting[end + 5:end + 13]
        at = end + 5 + 8 + 1 + 2 + 1 + 2 + 2 + 1 + 10
        tail = greeting[at:]
        salt += tail[:12]
        plugin = tail[13:].split(b"\0")[0] or b"mysql_native_password"
        capabilities = CAPABILITIES | (CONNECT_WITH_DB if database else 0)
        answer = scramble(plugin, password, salt)
        packet = struct.pack("<IIB23x", capabilities, 1 << 30, UTF8MB4_GENERAL_CI) + user + b"\0" + bytes([len(answer)]) + answer
        if database:
            packet += database + b"\0"
        self._write(packet + plugin + b"\0")
        while True:
            reply = self._packet()
            if reply[0] == 0:
                return
            if reply[0] == 0xFF:
                raise self._error(reply)
            if reply[0] == 0xFE:
                plugin, _, salt = reply[1:].partition(b"\0")
                self._write(scramble(plugin, password, salt[:20]))
            elif reply[0] == 1 and reply[1:2] == b"\4":
                self._write(password + b"\0")

    def send(self, statement):
        """Sends a statement; `reap` reads its answer."""
        self.sequence = 0
        self.pending = True
        self._write(b"\3" + statement)

    def reap(self, timeout):
        """Reads the answer to the last request: a list of `Rows` and `Done`, ended by a `ServerError` if there was one."""
        self.deadline = time.monotonic() + timeout
        results = []
        while True:
            try:
                result, more = self._result()
            except ServerError as error:
                self.pending = False
                return results + [error]
            results.append(result)
            if not more:
                self.pending = False
                return results

    def _result(self):
        first = self._packet()
        if first[0] == 0xFF:
            raise self._error(first)
        if first[0] == 0xFB:
            self._local_file(first[1:])
            first = self._packet()
            if first[0] == 0xFF:
                raise self._error(first)
        if first[0] == 0:
            affected, at = length_encoded(first, 1)
            _, at = length_encoded(first, at)
            return Done(affected), struct.unpack_from("<H", first, at)[0] & MORE_RESULTS
        count, _ = length_encoded(first, 0)
        columns = []
        for _ in range(count):
            columns.append(self._column(self._packet()))
        self._packet()
        rows = []
        while True:
            packet = self._packet()
            if packet[0] == 0xFE and len(packet) < 9:
                return Rows(columns, rows), struct.unpack_from("<H", packet, 3)[0] & MORE_RESULTS
            if packet[0] == 0xFF and len(packet) > 3:
                raise self._error(packet)
            rows.append(self._row(packet, count))

    @staticmethod
    def _column(packet):
        at = 0
        for _ in range(4):
            length, at = length_encoded(packet, at)
            at += length
        length, at = length_encoded(packet, at)
        return packet[at:at + length]

    @staticmethod
    def _row(packet, count):
        values, at = [], 0
        for _ in range(count):
            if packet[at] == 0xFB:
                values.append(None)
                at += 1
            else:
                length, at = length_encoded(packet, at)
                values.append(packet[at:at + length])
                at += length
        return tuple(values)

    def _local_file(self, name):
        try:
            with open(name, "rb") as file:
                while data := file.read(1 << 20):
                    self._write(data)
        except OSError:
            pass
        self._write(b"")

    def query(self, statement, timeout=30.0):
        """Runs a statement and returns its results, as `reap` does."""
        self.send(statement)
        return self.reap(timeout)

    def close(self):
        try:
            self.sequence = 0
            self._write(b"\1")
        except Lost:
            pass
        self.socket.close()
        self.buffer.clear()


def rows_of(connection, statement):
    """Returns the rows of one statement; raises an error."""
    results = connection.query(statement if isinstance(statement, bytes) else statement.encode())
    if isinstance(results[-1], ServerError):
        raise results[-1]
    return results[-1].rows if isinstance(results[-1], Rows) else []


