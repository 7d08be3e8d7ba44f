"""The two servers of a run: starts them on new directories, restarts them after a crash, and resets them for the next file.

The *reference* is MariaDB, the *subject* is Leafline. Each has a folder of its own that looks to scripts like the `var` of
mysql-test-run: `tmp`, `std_data` and `mysqld.1/data`.
"""

import os
import shutil
import signal
import subprocess
import time

from client import Connection, Lost, ServerError, TimedOut, rows_of

SUITE = "/usr/share/mysql/mysql-test"
SQL_MODE = "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"
SYSTEM_SCHEMAS = {b"information_schema", b"mysql", b"performance_schema", b"sys"}


class Server:
    """A server process with its directory."""

    def __init__(self, folder, port):
        self.folder, self.port = folder, port
        self.socket = os.path.join(folder, "socket")
        self.data = os.path.join(folder, "mysqld.1", "data")
        self.process = None
        self.admin = None
        self.crashes = 0
        os.makedirs(os.path.join(folder, "mysqld.1"), exist_ok=True)
        os.makedirs(os.path.join(folder, "tmp"), exist_ok=True)
        link = os.path.join(folder, "std_data")
        if not os.path.lexists(link):
            os.symlink(os.path.join(SUITE, "std_data"), link)

    def command(self):
        raise NotImplementedError

    def make_data(self):
        """Creates the data directory, if it does not exist: the server runs in it."""

    def start(self):
        self.make_data()
        if os.path.exists(self.socket):
            os.unlink(self.socket)
        log = open(os.path.join(self.folder, "server.log"), "ab")
        self.process = subprocess.Popen(self.command(), stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True, cwd=self.data,
                                        preexec_fn=lambda: os.nice(5))
        until = time.monotonic() + 60
        while True:
            try:
                self.admin = Connection(path=self.socket)
                break
            except (Lost, TimedOut, ServerError) as error:
                if self.process.poll() is not None or time.monotonic() > until:
                    raise RuntimeError(f"{self.name} does not start: {error}; see {log.name}") from error
                time.sleep(0.1)
        self.first_globals = self.globals()
        self.first_users = self.users()
        self.reset()

    def stop(self):
        if self.process is None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

    def begin_anew(self):
        """Restarts on an empty directory."""
        self.stop()
        shutil.rmtree(self.data, ignore_errors=True)
        self.start()

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def globals(self):
        return dict(rows_of(self.admin, "SHOW GLOBAL VARIABLES"))

    def users(self):
        return set(rows_of(self.admin, "SELECT user, host FROM mysql.user"))

    def reset(self):
        """Removes the traces of a file: other connections, schemas, accounts, global variables, files."""
        run = lambda text: self.admin.query(text if isinstance(text, bytes) else text.encode())
        for row in rows_of(self.admin, "SHOW PROCESSLIST"):
            if row[0] != str(self.admin.id).encode() and row[1] not in (b"system user", b"event_scheduler"):
                run(b"KILL " + row[0])
        run("UNLOCK TABLES")
        run("SET SESSION sql_mode = ''")
        run("SET foreign_key_checks = 0")
        for row in rows_of(self.admin, "SHOW DATABASES"):
            if row[0] not in SYSTEM_SCHEMAS:
                run(b"DROP DATABASE `" + row[0].replace(b"`", b"``") + b"`")
        for user, host in self.users() - self.first_users:
            run(b"DROP USER '" + user.replace(b"'", b"''") + b"'@'" + host + b"'")
        for name, value in self.globals().items():
            first = self.first_globals.get(name, value)
            if first != value and name not in (b"gtid_binlog_pos", b"timestamp"):
                results = run(b"SET GLOBAL " + name + b" = '" + first + b"'")
                if isinstance(results[-1], ServerError):
                    run(b"SET GLOBAL " + name + b" = " + (first or b"''"))
        run("CREATE DATABASE test CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci")
        run("CREATE DATABASE mtr")
        left = [row[0] for row in rows_of(self.admin, "SHOW DATABASES") if row[0] not in SYSTEM_SCHEMAS]
        scratch = os.path.join(self.folder, "tmp")
        shutil.rmtree(scratch, ignore_errors=True)
        os.makedirs(scratch)
        return sorted(left) == [b"mtr", b"test"]


class MariaDB(Server):
    name = "MariaDB"

    def make_data(self):
        if os.path.isdir(self.data):
            return
        template = os.path.join(self.folder, "template")
        if not os.path.isdir(template):
            subprocess.run(["mariadb-install-db", "--no-defaults", f"--datadir={template}", "--auth-root-authentication-method=normal",
                            "--skip-test-db", "--innodb-log-file-size=10M", "--user=" + os.environ.get("USER", "root")],
                           check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        shutil.copytree(template, self.data)

    def command(self):
        return ["mariadbd", "--no-defaults", f"--datadir={self.data}", f"--socket={self.socket}", f"--port={self.port}",
                "--bind-address=127.0.0.1", "--user=" + os.environ.get("USER", "root"), f"--pid-file={self.folder}/pid",
                "--character-set-server=utf8mb4", "--collation-server=utf8mb4_general_ci", f"--sql-mode={SQL_MODE}",
                "--default-storage-engine=InnoDB", "--innodb-log-file-size=10M", "--innodb-buffer-pool-size=64M",
                "--innodb-flush-log-at-trx-commit=0", "--innodb-lock-wait-timeout=5", "--innodb-autoinc-lock-mode=0", "--lock-wait-timeout=5", "--local-infile=1",
                "--secure-file-priv=", "--max-allowed-packet=16M", "--skip-log-bin", "--event-scheduler=OFF", "--key-buffer-size=1M",
                "--tmpdir=" + os.path.join(self.folder, "mysqld.1"), "--log-bin-trust-function-creators=1", "--max-statement-time=60"]


class Leafline(Server):
    name = "Leafline"

    def __init__(self, folder, port, binary):
        super().__init__(folder, port)
        self.binary = binary

    def make_data(self):
        # Relative file names start at the directory in which the server runs; the reference's start at its data
        # directory.
        os.makedirs(self.data, exist_ok=True)

    def command(self):
        options = {"sql_mode": SQL_MODE, "character_set_server": "utf8mb4", "collation_server": "utf8mb4_general_ci",
                   "innodb_flush_log_at_trx_commit": "0", "innodb_lock_wait_timeout": "5", "lock_wait_timeout": "5", "local_infile": "1",
                   "secure_file_priv": "", "max_allowed_packet": "16M", "max_execution_time": "60000",
                   "leafline_engine_substitution": "1"}
        return ["prlimit", "--as=6000000000", self.binary, "serve", self.data, f"--port={self.port}", f"--socket={self.socket}",
                "--buffer-pool-size=128M", "--no-tls"] + [part for name, value in options.items() for part in ("--set", f"{name}={value}")]
