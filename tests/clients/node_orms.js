// Everyday work of Node.js programs through Sequelize, Knex and TypeORM against a running server: creation and
// migration of tables from models, relations, existing rows, transactions.
//
// Environment: LEAFLINE_PORT; root has no password. Creates a database for each anew. Exits with 1 and a message on
// failure.
const assert = require("node:assert");
const server = { host: "127.0.0.1", port: Number(process.env.LEAFLINE_PORT) };

async function throughSequelize(database) {
    const { Sequelize, DataTypes, Op } = require("sequelize");
    const db = new Sequelize(database, "root", "", { ...server, dialect: "mysql", logging: false });
    const User = db.define("User", {
        name: { type: DataTypes.STRING(80), unique: true, allowNull: false },
        born: DataTypes.DATEONLY,
        score: DataTypes.DECIMAL(10, 2),
        extra: DataTypes.JSON,
        kind: DataTypes.ENUM("a", "b"),
        uid: { type: DataTypes.UUID, defaultValue: DataTypes.UUIDV4 },
        raw: DataTypes.BLOB("long"),
        at: DataTypes.DATE(3),
        flag: DataTypes.BOOLEAN,
    });
    const views = { type: DataTypes.BIGINT.UNSIGNED, defaultValue: 0 };
    const Post = db.define("Post", { title: DataTypes.TEXT, views }, { indexes: [{ fields: ["views"] }], paranoid: true });
    const Tag = db.define("Tag", { word: DataTypes.STRING });
    User.hasMany(Post, { onDelete: "CASCADE" });
    Post.belongsTo(User);
    Post.belongsToMany(Tag, { through: "PostTags" });
    Tag.belongsToMany(Post, { through: "PostTags" });
    await db.sync({ force: true });
    await db.sync({ alter: true });
    await db.sync({ alter: true });
    const ann = await User.create({
        name: "ann", born: "2000-02-29", score: "12.50", extra: { k: [1], n: { m: 1 } }, kind: "a", raw: Buffer.from([0, 255]), at: new Date(), flag: true,
    });
    const many = [...Array(50).keys()].map((n) => ({ name: `u${n}`, score: n }));
    await User.bulkCreate(many, { updateOnDuplicate: ["score"] });
    const post = await Post.create({ title: "t", UserId: ann.id });
    await post.addTag(await Tag.create({ word: "x" }));
    await Post.increment("views", { by: 2, where: { id: post.id } });
    const where = { [Op.or]: [{ name: { [Op.like]: "an%" } }, { score: { [Op.gt]: 48 } }] };
    const found = await User.findAll({ include: [{ model: Post, include: [Tag] }], where, order: [["name", "ASC"]], limit: 5 });
    assert.deepEqual(found.map((user) => user.name), ["ann", "u49"]);
    assert.equal(found[0].Posts[0].Tags[0].word, "x");
    assert.deepEqual(found[0].extra.k, [1]);
    assert.equal((await User.findAndCountAll({ where: { "extra.n.m": 1 }, limit: 1 })).count, 1);
    await db.transaction({ isolationLevel: "READ COMMITTED" }, async (transaction) => {
        await ann.update({ kind: "b" }, { transaction });
        await User.findOne({ where: { id: ann.id }, lock: transaction.LOCK.UPDATE, transaction });
    });
    await post.destroy();
    await post.restore();
    await User.upsert({ name: "ann", score: 3 });
    const schema = db.getQueryInterface();
    await schema.describeTable("Users");
    await schema.showIndex("Posts");
    assert.equal((await schema.getForeignKeyReferencesForTable("Posts")).length, 1);
    await schema.addColumn("Tags", "n", { type: DataTypes.INTEGER });
    await schema.renameColumn("Tags", "n", "m");
    await schema.changeColumn("Tags", "m", { type: DataTypes.BIGINT, defaultValue: 7 });
    await schema.removeColumn("Tags", "m");
    await schema.addConstraint("Tags", { type: "unique", fields: ["word"], name: "words" });
    await schema.removeConstraint("Tags", "words");
    await db.drop();
    await db.close();
}

const migrations = {
    made: {
        up: (db) =>
            db.schema
                .createTable("authors", (table) => {
                    table.increments();
                    table.string("name").notNullable().unique();
                    table.json("j");
                    table.timestamps(true, true);
                    table.enu("e", ["x", "y"]);
                    table.uuid("u");
                    table.float("f", 8, 2);
                })
                .createTable("books", (table) => {
                    table.bigIncrements("id").primary();
                    table.integer("author").unsigned().references("id").inTable("authors").onDelete("CASCADE");
                    table.text("title", "longtext");
                    table.decimal("price", 8, 2).defaultTo(1.5);
                    table.index(["price", "author"], "by_price");
                    table.comment('a "table"');
                }),
        down: (db) => db.schema.dropTable("books").dropTable("authors"),
    },
    altered: {
        up: (db) =>
            db.schema.alterTable("books", (table) => {
                table.string("isbn", 20).after("id");
                table.dropIndex(["price", "author"], "by_price");
                table.renameColumn("title", "name");
            }),
        down: (db) =>
            db.schema.alterTable("books", (table) => {
                table.dropColumn("isbn");
                table.renameColumn("name", "title");
                table.index(["price", "author"], "by_price");
            }),
    },
};

async function throughKnex(database) {
    const db = require("knex")({ client: "mysql2", connection: { ...server, user: "root", database }, pool: { min: 0, max: 4 } });
    const migrationSource = {
        getMigrations: async () => Object.keys(migrations),
        getMigrationName: (name) => name,
        getMigration: async (name) => migrations[name],
    };
    await db.migrate.latest({ migrationSource });
    const [author] = await db("authors").insert({ name: "ann", j: JSON.stringify({ a: 1 }) });
    await db("books").insert([{ author, name: "x" }, { author, name: "y", price: 3 }]);
    await db("authors").insert({ name: "ann", e: "x" }).onConflict("name").merge();
    await db("authors").insert({ name: "ann" }).onConflict("name").ignore();
    const joined = db("books").join("authors", "authors.id", "books.author").select("authors.name as a");
    assert.equal((await joined.sum({ s: "price" }).groupBy("authors.id").having("s", ">", 1))[0].s, "4.50");
    await db.transaction(async (transaction) => {
        await transaction("books").where("id", 1).forUpdate().first();
        await transaction("books").where("id", 1).update({ price: db.raw("price + 1") });
    });
    let streamed = 0;
    for await (const _ of db("books").select().stream()) streamed += 1;
    assert.equal(streamed, 2);
    assert(await db.schema.hasTable("books"));
    assert(await db.schema.hasColumn("books", "isbn"));
    assert.equal((await db("books").columnInfo()).price.type, "decimal");
    assert.equal((await db("authors").whereJsonPath("j", "$.a", "=", 1)).length, 1);
    await db.with("w", (query) => query.select("id").from("books")).select("*").from("w").union((query) => query.select("id").from("authors"));
    await db.migrate.rollback({ migrationSource }, true);
    await db.destroy();
}

function entities(EntitySchema) {
    const id = { type: "int", primary: true, generated: true };
    return [
        new EntitySchema({
            name: "User",
            tableName: "users",
            columns: {
                id,
                name: { type: "varchar", length: 60, unique: true },
                at: { type: "datetime", createDate: true, precision: 6 },
                up: { type: "datetime", updateDate: true, precision: 6 },
                price: { type: "decimal", precision: 10, scale: 2, default: 0 },
                j: { type: "json", nullable: true },
                e: { type: "enum", enum: ["a", "b"], default: "a" },
                s: { type: "set", enum: ["r", "w"], nullable: true },
                b: { type: "blob", nullable: true },
                y: { type: "year", nullable: true },
                t: { type: "time", nullable: true },
                big: { type: "bigint", unsigned: true, default: 0 },
                flag: { type: "boolean", default: true },
                g: { type: "varchar", length: 70, generatedType: "STORED", asExpression: "CONCAT(`name`, '!')", nullable: true },
            },
            relations: { posts: { type: "one-to-many", target: "Post", inverseSide: "user" } },
            indices: [{ columns: ["price", "e"] }],
            checks: [{ expression: "`price` >= 0" }],
        }),
        new EntitySchema({
            name: "Post",
            tableName: "posts",
            columns: { id: { type: "varchar", length: 36, primary: true, generated: "uuid" }, title: { type: "text" } },
            relations: {
                user: { type: "many-to-one", target: "User", onDelete: "CASCADE", joinColumn: true, inverseSide: "posts" },
                tags: { type: "many-to-many", target: "Tag", joinTable: true, cascade: true },
            },
        }),
        new EntitySchema({ name: "Tag", tableName: "tags", columns: { id, word: { type: "varchar", length: 20 } } }),
        new EntitySchema({
            name: "Name",
            type: "view",
            tableName: "names",
            expression: "SELECT u.id AS id, u.name AS name FROM users u",
            columns: { id: { type: "int" }, name: { type: "varchar" } },
        }),
    ];
}

async function throughTypeorm(database) {
    require("reflect-metadata");
    const { DataSource, EntitySchema } = require("typeorm");
    const db = new DataSource({ type: "mysql", ...server, username: "root", database, entities: entities(EntitySchema), logging: false });
    await db.initialize();
    await db.synchronize(true);
    // The table matches its model.
    assert.deepEqual((await db.driver.createSchemaBuilder().log()).upQueries.map((query) => query.query), []);
    const users = db.getRepository("User");
    const ann = await users.save({ name: "ann", j: { a: 1 }, s: ["r"], b: Buffer.from([1]) });
    await db.getRepository("Post").save({ title: "x", user: ann, tags: [{ word: "w" }] });
    const [found] = await users.find({ relations: { posts: { tags: true } }, where: { name: "ann" }, take: 3, order: { id: "DESC" } });
    assert.equal(found.posts[0].tags[0].word, "w");
    assert.equal(found.g, "ann!");
    // The library expects the id of the existing row.
    await users.upsert([{ name: "ann", price: 3 }], ["name"]);
    const joined = users.createQueryBuilder("u").leftJoinAndSelect("u.posts", "p").where("u.price > :p", { p: 1 });
    assert.equal((await joined.skip(0).take(2).getManyAndCount())[1], 1);
    await db.transaction("REPEATABLE READ", async (manager) => {
        await manager.findOne("User", { where: { id: ann.id }, lock: { mode: "pessimistic_write" } });
        await manager.update("User", { id: ann.id }, { e: "b" });
    });
    assert.equal((await db.getRepository("Name").find()).length, 1);
    await db.dropDatabase();
    await db.destroy();
}

async function main() {
    let failed = 0;
    const root = await require("mysql2/promise").createConnection({ ...server, user: "root" });
    for (const [name, run] of Object.entries({ sequelize: throughSequelize, knex: throughKnex, typeorm: throughTypeorm })) {
        const database = `clients_${name}`;
        await root.query(`DROP DATABASE IF EXISTS ${database}`);
        await root.query(`CREATE DATABASE ${database}`);
        try {
            await run(database);
            console.log(`${name}: ok`);
        } catch (error) {
            failed += 1;
            console.log(`${name}: FAILED`, error);
        }
    }
    process.exit(failed > 0 ? 1 : 0);
}

main();
